/** What payloads say: envelopes with their files, packed to be sent and opened when they came. */

import { BadEnvelope } from "../errors.ts";
import { decode, encode, type Envelope } from "../mfp/envelope.ts";
import type { BodyFrame, Bytes, Files } from "../mfp/frames.ts";

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

/** An envelope's bytes, and what its files are made of; those that are blobs are not read yet. */
export interface Packed {
  readonly payload: Bytes;
  readonly files: readonly (readonly [key: number, blob: Blob])[];
  readonly sizes: readonly number[];
}

/** An envelope to be sent. */
export function pack({ endpoint, data, error }: Envelope, files: FilesToSend = new Map()): Packed {
  const filemap = [...files].map(([key, file]) => [key, ...labels(file)] as const);
  const blobs = [...files].map(([key, { bin }]) => [key, new Blob([bin as BlobPart])] as const);
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

/** Look into the payload of a frame; what it says, or why it is no envelope. */
export function openPayload(frame: BodyFrame): Envelope | BadEnvelope {
  const ahead = frame.type === "message" && (frame.streaming || frame.expected.length > 0);
  try {
    return decode(frame.payload, ahead ? undefined : frame.files);
  } catch (error) {
    return error as BadEnvelope;
  }
}

/** Attached bytes with the names that the envelope gives them. */
export function unpack(files: Files, { filemap = [] }: Envelope): ReceivedFiles {
  const names = new Map(filemap.map(([key, name, type]) => [key, { name, type }]));
  return new Map(files.map(([key, bin]) => [key, { bin, name: "", type: "", ...names.get(key) }]));
}
