/** What payloads say: envelopes with their files, packed to be sent and opened when they came. */

import type { BadEnvelope } from "../errors.ts";
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

export type FilesToSend = ReadonlyMap<number, FileToSend>;
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

/** An envelope to be sent. */
export function pack({ endpoint, data, error, files = new Map() }: ToSend): Packed {
  const entries = [...files];
  const filemap = entries.map(([key, file]) => [key, ...labels(file)] as const);
  const blobs = entries.map(([key, { bin }]) => [key, new Blob([bin as BlobPart])] as const);
  return {
    payload: encode({ endpoint, data, error, ...(files.size && { filemap }) }),
    files: blobs,
    sizes: blobs.map(([, blob]) => blob.size),
  };
}

/** Read the files. */
export function load({ files }: Packed): Promise<Files> {
  return Promise.all(files.map(async ([key, blob]) => [key, await read(blob)] as const));
}

/** The bytes of one file. */
export async function read(blob: Blob): Promise<Bytes> {
  return new Uint8Array(await blob.arrayBuffer());
}

/** Name and type of a file to send. */
export function labels({ bin, name, type }: FileToSend): [name: string, type: string] {
  const own = bin as Partial<File>;
  return [name ?? own.name ?? "", type ?? own.type ?? ""];
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
