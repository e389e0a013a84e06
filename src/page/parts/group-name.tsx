import { groupSamples, type GroupPlace, type GroupSamples } from '../../ops/group-samples.ts';
import { groupInWords } from '../../ops/words/group-words.ts';
import type { Visit } from '../visit.ts';
import { StoredText } from './stored-text.tsx';

/** What one screen has asked for. */
const samplesOf = new WeakMap<Visit, GroupSamples>();

/** A group of errors by what they say: its fingerprint says nothing to people. */
export async function GroupName({ place, visit }: { readonly place: GroupPlace; readonly visit: Visit }) {
  const samples = samplesOf.get(visit) ?? groupSamples(visit.operated.inbox);
  samplesOf.set(visit, samples);
  const sample = await samples(place);
  return <StoredText text={groupInWords(place.fingerprint, sample)} />;
}
