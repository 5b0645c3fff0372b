/** A person's wish that a run goes on; part of the new execution's input. */
export interface ResumeRequest {
  /** Names this retry: however often it is carried out (a lost answer, a reset), it happens once. */
  id: string;
  /** Who asked for it. */
  by: string;
  note?: string;
  /** The model is asked anew for its last turn, which is set aside. */
  askAgain?: true;
}
