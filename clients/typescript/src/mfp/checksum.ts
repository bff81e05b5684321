/**
 * Checksums at the end of a frame (spec/mfp.md, section 3). Pure.
 *
 * The sum covers every byte before it, the first byte with its checksum bit set. Mode and algorithm are
 * agreed when a connection opens: `off`, by `flag` (a frame says whether it has one) or `always`.
 */

/** What two peers agreed on. */
export interface Checksums {
  readonly mode: "off" | "flag" | "always";
  readonly algorithm: "crc32" | "xor8";
}

export const BY_FLAG: Checksums = { mode: "flag", algorithm: "crc32" };

const TABLE = Int32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = (n >>> 1) ^ (n & 1 && 0xedb88320);
  return n;
});

/** Bytes of one sum. */
export function sizeOf({ algorithm }: Checksums): number {
  return algorithm === "xor8" ? 1 : 4;
}

/** The sum of `data` as it stands on the wire. */
export function sumOf(data: Uint8Array, { algorithm }: Checksums): Uint8Array {
  if (algorithm === "xor8") return Uint8Array.of(xor8(data));
  const sum = crc32(data);
  return Uint8Array.of(sum >> 24, sum >> 16, sum >> 8, sum);
}

/** CRC-32 as in zlib. */
export function crc32(data: Uint8Array): number {
  let sum = -1;
  for (let at = 0; at < data.length; at++) sum = TABLE[(sum ^ data[at]!) & 255]! ^ (sum >>> 8);
  return ~sum >>> 0;
}

/** All bytes XORed. */
export function xor8(data: Uint8Array): number {
  let sum = 0;
  for (let at = 0; at < data.length; at++) sum ^= data[at]!;
  return sum;
}
