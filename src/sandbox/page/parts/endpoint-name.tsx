import { StoredText } from '../../../page/parts/stored-text.tsx';
import type { Endpoint } from '../../endpoints.ts';

/** Where an endpoint is; `undefined` for one that was removed. */
export function EndpointName({ endpoint }: { readonly endpoint: Endpoint | undefined }) {
  if (endpoint === undefined) return <span class="muted">removed</span>;
  return endpoint.url === null ? <>a receiver in this process</> : <StoredText text={endpoint.url} atMost={120} />;
}
