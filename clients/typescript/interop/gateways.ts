/** Real gateways for the interop tests: `framehub serve` in processes; FRAMEHUB names the command. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";

const COMMAND = process.env["FRAMEHUB"] ?? resolve("../../.venv/bin/framehub");
const HERE = resolve("interop");
const OTHER_DOORS = ["--services", "--clients", "--workers", "--admin"];
const SAMPLE = "framehub.gateway.sample:endpoints";

/** `framehub ARGS` to its end; what it prints. */
export function framehub(...args: string[]): string {
  return execFileSync(COMMAND, args, { encoding: "utf-8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}

/** A directory that is gone when the tests are over. */
export const folder = mkdtempSync(join(tmpdir(), "framehub-interop-"));
const running = new Set<Gateway>();

after(async () => {
  for (const gateway of running) await gateway.kill();
  rmSync(folder, { recursive: true, force: true });
});

export class Gateway {
  readonly url: string;
  readonly port: number;
  readonly #process: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#process = child;
    this.url = url;
    this.port = Number(new URL(url).port);
    running.add(this);
  }

  /** Start one and wait until it can be used. */
  static async start(app = SAMPLE, port = 0, ...options: string[]): Promise<Gateway> {
    const doors = ["--listen", `127.0.0.1:${port}`, ...OTHER_DOORS.flatMap((door) => [door, "off"])];
    const args = ["serve", "--app", app, ...doors, "--no-journal", ...options];
    const child = spawn(COMMAND, args, { cwd: HERE, stdio: ["ignore", "pipe", "inherit"] });
    const url = await new Promise<string>((ready, failed) => {
      child.once("error", failed);
      child.once("exit", (code) => failed(new Error(`${COMMAND} ${args.join(" ")} ended with ${code}`)));
      createInterface(child.stdout!).once("line", (line) => {
        const found = /^ready mfp=(\S+)/.exec(line);
        if (found) ready(found[1]!);
        else failed(new Error(line));
      });
    });
    return new Gateway(child, url);
  }

  /** Ask it to stop. */
  stop(): void {
    this.#process.kill("SIGTERM");
  }

  /** kill -9, and wait until it is gone. */
  async kill(): Promise<void> {
    running.delete(this);
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill("SIGKILL");
    await gone;
  }
}
