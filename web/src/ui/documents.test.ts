import { describe, expect, test } from "vitest";
import { documentName, isDocument, titleOf } from "./documents";

const file = (name: string, type: string) => new File(["x"], name, { type });

describe("files that become documents", () => {
  test.each([
    ["lease.pdf", "application/pdf", true, "lease.pdf", "lease"],
    ["Page 1.JPG", "image/jpeg", true, "Page 1.pdf", "Page 1"],
    ["scan.v2.png", "image/png", true, "scan.v2.pdf", "scan.v2"],
    ["photo", "image/jpeg", true, "photo.pdf", "photo"],
    ["untyped", "", true, "untyped", "untyped"],
    ["notes.txt", "text/plain", false, "notes.txt", "notes.txt"],
    ["moving.gif", "image/gif", false, "moving.pdf", "moving.gif"],
  ])("%s", (name, type, accepted, document, title) => {
    const f = file(name, type);
    expect([isDocument(f), documentName(f), titleOf(f)]).toEqual([accepted, document, title]);
  });
});
