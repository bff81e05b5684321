/** MFP from a browser or Node: messages, requests, files and streams over one WebSocket, both ways. */

export type { ErrorCode } from "./codes.ts";
export * from "./errors.ts";
export type { Checksum } from "./mfp/negotiation.ts";
export type { Settings } from "./mfp/settings.ts";
export type { Backoff } from "./runtime/backoff.ts";
export { connect, type ConnectOptions } from "./runtime/connect.ts";
export type { Token } from "./runtime/dial.ts";
export { type Call, Endpoints, type Handler, Reply, type StreamHandler } from "./runtime/endpoints.ts";
export type { Socket, SocketClass } from "./runtime/link.ts";
export { OutStream, type Progress } from "./runtime/outstream.ts";
export type { FilesToSend, FileToSend, ReceivedFile, ReceivedFiles } from "./runtime/payloads.ts";
export { type Announce, Peer, type Request, type Send, type Stream, type Upload } from "./runtime/peer.ts";
export type { State } from "./runtime/reconnect.ts";
export { type Chunk, InStream } from "./runtime/streams.ts";
