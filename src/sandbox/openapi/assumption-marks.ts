import type { CreateDocumentOptions } from 'zod-openapi';
import { ASSUMPTIONS, type AssumedKeywords, type AssumptionId, type Assumptions } from '../assumptions.ts';

/** What stands in `x-assumption`: what the sandbox does where the interface says nothing, and its values here. */
export interface AssumptionMark {
  readonly id: AssumptionId;
  readonly decision: string;
  readonly values?: Partial<Assumptions>;
}

/** Writes `x-assumption` where an assumption decides something. */
export interface Marks {
  /** For a part of the document that is no schema. */
  readonly of: (...ids: readonly AssumptionId[]) => { readonly 'x-assumption': readonly AssumptionMark[] };
  /** For schemas that `assumed` has marked. */
  readonly override: NonNullable<CreateDocumentOptions['override']>;
}

export function marksWith(assumptions: Assumptions): Marks {
  const markOf = (id: AssumptionId): AssumptionMark => {
    const { decision, values } = ASSUMPTIONS[id];
    const inForce = Object.fromEntries(values.map((name) => [name, assumptions[name]]));
    return { id, decision, ...(values.length > 0 && { values: inForce }) };
  };
  const of: Marks['of'] = (...ids) => ({ 'x-assumption': ids.map(markOf) });
  return {
    of,
    override({ jsonSchema }) {
      const { assumption, assumedKeywords = {} } = jsonSchema as {
        assumption?: AssumptionId;
        assumedKeywords?: AssumedKeywords;
      };
      if (assumption === undefined) return;
      for (const [keyword, name] of Object.entries(assumedKeywords)) {
        Object.assign(jsonSchema, { [keyword]: assumptions[name] });
      }
      Object.assign(jsonSchema, of(assumption));
      Reflect.deleteProperty(jsonSchema, 'assumption');
      Reflect.deleteProperty(jsonSchema, 'assumedKeywords');
    },
  };
}
