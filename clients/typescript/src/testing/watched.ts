import { Connection } from "../mfp/connection.ts";
import type { ServiceFrame } from "../mfp/frames.ts";
import type { Settings } from "../mfp/settings.ts";
import { Ids } from "../ids.ts";

/** A connection that tells more of itself, and may begin with another id than 1. */
export class Watched extends Connection {
  /** Service frames about nothing known. */
  ignored = 0;

  constructor(settings: Settings, firstId = 1) {
    super(settings);
    this.outbox.ids = new Ids(firstId);
  }

  /** How much is under way in both directions; 0 after the end. */
  get pending(): number {
    return this.ours.size + this.acks.size + this.pings.size + this.theirs.size;
  }

  protected override ignore(frame: ServiceFrame, now: number): undefined {
    this.ignored++;
    super.ignore(frame, now);
  }
}
