import { StoredText } from './stored-text.tsx';

/** ` at shop-b`, behind a name; nothing where the endpoint is the usual one. */
export function AtEndpoint({ endpoint }: { readonly endpoint: string }) {
  if (endpoint === 'default') return <></>;
  return (
    <>
      {' '}
      at <StoredText text={endpoint} atMost={40} />
    </>
  );
}
