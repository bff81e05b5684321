/** What no frame can carry (spec/mfp.md, 2.9): for frames that the machine did not make. Pure. */

import { BinaryKind, Protocol, Service } from "../codes.ts";
import { LocalProtocolError } from "../errors.ts";
import type { Frame, MessageFrame } from "./frames.ts";
import { isKeyed, KIND_NAMES } from "./layout.ts";

/** The frame itself. Throws `LocalProtocolError` if no bytes could say that. */
export function sendable(frame: Frame): Frame {
  const why = fault(frame);
  if (why) throw new LocalProtocolError(why);
  return frame;
}

function fault(frame: Frame): string | false {
  const { id, type } = frame;
  const hasRef = type !== Protocol.MESSAGE && type !== Protocol.REQUEST;
  if (!id) return "id 0 is not used";
  if (hasRef && !frame.ref) return "ref 0 is not used";
  if (type === Protocol.SERVICE) {
    const isWrong = frame.code === Service.PING && !(frame.own && frame.ref === id);
    return isWrong && "a ping names itself: own bit set and ref equal to id";
  }
  if (type === Protocol.BINARY) {
    const { kind, key, data } = frame;
    const keyed = isKeyed(kind);
    if (keyed !== (key !== undefined)) {
      return `a binary frame of kind ${KIND_NAMES[kind]} has ${keyed ? "a" : "no"} key`;
    }
    return kind === BinaryKind.NONE && data.length > 0 && "a binary frame of kind none has no data";
  }
  const { files } = frame;
  const { expected = [], streaming } = frame as MessageFrame;
  const keys = [...files.map(([key]) => key), ...expected];
  if ((files.length && expected.length) || (keys.length && streaming)) {
    return "a message attaches files, announces files or opens a stream: one of them";
  }
  return new Set(keys).size < keys.length && "two files have the same key";
}
