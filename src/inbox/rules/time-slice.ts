/** Bounds one transaction over many events by time. */
export interface TimeSlice {
  /** Counts a row with the length of its body; `true` when it is time to write what came together, and to ask `isOver`. */
  add(bytes: number): boolean;
  /** Whether to stop and leave the rest to another transaction. */
  isOver(): boolean;
}
