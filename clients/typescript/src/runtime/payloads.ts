/** What payloads say: envelopes with their files, packed to be sent and opened when they came. */

import { type BadEnvelope, LocalProtocolError } from "../errors.ts";
import { decode, encode, type Envelope } from "../mfp/envelope.ts";
import type { BodyFrame, Bytes, Files, MessageFrame } from "../mfp/frames.ts";

/** A file to send. Name and type are those of a `File` where they are not given. */
export interface FileToSend {
  readonly bin: Uint8Array | ArrayBuffer | Blob;
  readonly name?: string;
  readonly type?: string;
}

/** A file that came; `bin` may be a view of a larger buffer. */
export interface ReceivedFile {
  readonly bin: Bytes;
  readonly name: string;
  readonly type: string;
}

/** By key; a `Blob` or `File` may stand for itself. */
export type FilesToSend = ReadonlyMap<number, FileToSend | Blob>;
export type ReceivedFiles = ReadonlyMap<number, ReceivedFile>;

/** What an envelope to be sent is made of. */
export interface ToSend extends Omit<Envelope, "filemap"> {
  readonly files?: FilesToSend | undefined;
}

/** An envelope that came; of one that is none, why: then nobody serves its endpoint. */
export interface Opened extends Envelope {
  readonly bad?: string;
}

/** The endpoint of what named none. */
const NO_ENVELOPE = "framehub.error";

/** An envelope's bytes, and what its files are made of; those that are blobs are not read yet. */
export interface Packed {
  readonly payload: Bytes;
  readonly files: readonly (readonly [key: number, blob: Blob])[];
  readonly sizes: readonly number[];
}

/** An envelope to be sent. Throws `LocalProtocolError`: files that are none. */
export function pack({ endpoint, data, error, files = new Map() }: ToSend): Packed {
  if (!(files instanceof Map)) throw new LocalProtocolError("files: want a Map");
  const entries = [...files].map(([key, file]) => [key, ...contentOf(file, key)] as const);
  const filemap = entries.map(([key, , name, type]) => [key, name, type] as const);
  return {
    payload: encode({ endpoint, data, error, ...(files.size && { filemap }) }),
    files: entries.map(([key, blob]) => [key, blob]),
    sizes: entries.map(([, blob]) => blob.size),
  };
}

/** What a file is made of: its bytes, name and type. Throws `LocalProtocolError` for what has no bytes. */
export function contentOf(file: unknown, key = 0): [blob: Blob, name: string, type: string] {
  const { bin = file, name, type } = Object(file) as FileToSend;
  const own = Object(bin) as File & ArrayBuffer;
  if (!((own.byteLength ?? own.size) >= 0)) throw new LocalProtocolError(`file ${key}: want bytes or a Blob`);
  return [new Blob([own]), name ?? own.name ?? "", type ?? own.type ?? ""];
}

/** The bytes of one file. */
export async function read(blob: Blob): Promise<Bytes> {
  return new Uint8Array(await blob.arrayBuffer());
}

/** Look into the payload of a frame: what it says, or why it is no envelope. */
export function openPayload(frame: BodyFrame): Opened {
  const { payload, files, streaming, expected = [] } = frame as MessageFrame;
  try {
    return decode(payload, streaming || expected.length ? undefined : files);
  } catch (error) {
    return { endpoint: NO_ENVELOPE, bad: (error as BadEnvelope).message };
  }
}

/** Attached bytes with the names that the envelope gives them. */
export function unpack(files: Files, { filemap = [] }: Envelope): ReceivedFiles {
  const names = new Map(filemap.map(([key, name, type]) => [key, { name, type }]));
  return new Map(files.map(([key, bin]) => [key, { bin, name: "", type: "", ...names.get(key) }]));
}
