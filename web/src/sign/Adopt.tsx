import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type SignaturePad from "signature_pad";
import type { Translate } from "../ui/i18n";
import { Dialog, Title } from "../ui/parts";
import type { AdoptedSignature } from "./draft";
import { cropToInk, typefacesFor, hasLetters, initialsOf, inkColour, drawTypedText, drawUploadedImage } from "./ink";

type Way = "type" | "draw" | "upload" | "saved";

interface Props {
  kind: "signature" | "initial" | "stamp";
  signerName: string;
  saved: AdoptedSignature | null;
  t: Translate;
  onAdopt: (m: AdoptedSignature) => void;
  onClose: () => void;
}

/**
 * The dialog for adopting a signature or initials, which can be typed, drawn, uploaded as an image, or taken from an
 * earlier signing.
 */
export function Adopt({ kind, signerName, saved, t, onAdopt, onClose }: Props) {
  const initials = kind === "initial";
  const stamp = kind === "stamp";
  const offered: Way[] = stamp ? ["upload", "draw"] : saved && !initials ? ["saved", "type", "draw", "upload"] : ["type", "draw", "upload"];
  const [way, setWay] = useState<Way>(offered[0]!);
  // A tab retains its drawing, text or file while another tab is displayed.
  const [opened, setOpened] = useState<readonly Way[]>([offered[0]!]);
  const [marks, setMarks] = useState<Partial<Record<Way, AdoptedSignature | null>>>({});
  const mark = marks[way];
  const markOf = useMemo(() => Object.fromEntries(offered.map((w) => [w, (m: AdoptedSignature | null) => setMarks((all) => ({ ...all, [w]: m }))])) as Record<Way, OnMark>, []);
  const choose = (w: Way) => {
    setOpened((before) => (before.includes(w) ? before : [...before, w]));
    setWay(w);
  };
  const title = t(stamp ? "stampTitle" : initials ? "adoptInitials" : "adoptTitle");
  const move = (e: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    e.preventDefault();
    const rtl = document.documentElement.dir === "rtl" ? -1 : 1;
    const next = offered[(offered.indexOf(way) + step * rtl + offered.length) % offered.length]!;
    choose(next);
    document.getElementById(`way-${next}`)?.focus();
  };
  return (
    <Dialog label={title} onClose={onClose}>
      <Title level={2}>{title}</Title>
      <div class="tabs" role="tablist" onKeyDown={move}>
        {offered.map((w) => (
          <button key={w} id={`way-${w}`} type="button" role="tab" aria-selected={w === way} aria-controls={opened.includes(w) ? `panel-${w}` : undefined} tabIndex={w === way ? 0 : -1} onClick={() => choose(w)}>{t(w)}</button>
        ))}
      </div>
      <form onSubmit={(e) => { e.preventDefault(); if (mark) onAdopt(mark); }}>
        {opened.map((w) => (
          <div key={w} id={`panel-${w}`} role="tabpanel" aria-labelledby={`way-${w}`} hidden={w !== way}>
            {w === "type" && <Type name={initials ? initialsOf(signerName) : signerName} label={t(initials ? "yourInitials" : "yourName")} t={t} onMark={markOf.type} />}
            {w === "draw" && <Draw t={t} onMark={markOf.draw} />}
            {w === "upload" && <Upload t={t} onMark={markOf.upload} />}
            {w === "saved" && <Saved mark={saved!} alt={title} onMark={markOf.saved} />}
          </div>
        ))}
        <div class="row end">
          <button type="button" class="bare" onClick={onClose}>{t("cancel")}</button>
          <button disabled={!mark}>{t(stamp ? "useStamp" : initials ? "adoptUseInitials" : "adopt")}</button>
        </div>
      </form>
    </Dialog>
  );
}

/** Reports whether a text input can receive the focus without opening an on-screen keyboard over the page. */
const byKeyboard = () => !matchMedia("(pointer: coarse)").matches;

type OnMark = (m: AdoptedSignature | null) => void;

function Type({ name, label, t, onMark }: { name: string; label: string; t: Translate; onMark: OnMark }) {
  const [text, setText] = useState(name);
  const [style, setStyle] = useState("");
  const faces = typefacesFor(text);
  const face = faces.find((f) => f.label === style) ?? faces[0]!;
  const drawable = hasLetters(text, face);
  // The mark is updated before the next click, so that the signer cannot adopt a mark that does not match the displayed
  // text.
  useLayoutEffect(() => {
    let stale = false;
    onMark(null);
    if (!drawable) return;
    void drawTypedText(text, face).then((picture) => { if (!stale) onMark(picture ? { picture, fontLabel: face.label } : null); });
    return () => { stale = true; };
  }, [text, face, drawable]);
  return (
    <>
      <label for="typed-name">{label}</label>
      <input id="typed-name" data-first={byKeyboard() ? "" : undefined} dir="auto" value={text} maxLength={80} autocomplete="name" spellcheck={false} onInput={(e) => setText(e.currentTarget.value)} />
      <fieldset class="faces">
        <legend>{t("style")}</legend>
        {faces.map((f) => (
          <label key={f.label} class="face">
            <input type="radio" name="face" checked={f === face} aria-label={f.label} onChange={() => setStyle(f.label)} />
            <span dir="auto" style={{ fontFamily: f.family, "--letters": String([...text.trim()].length || 1) }}>{text.trim() || label}</span>
          </label>
        ))}
      </fieldset>
      <p class="notice bad" role="alert">{drawable ? "" : t("noLetters")}</p>
    </>
  );
}

function Draw({ t, onMark }: { t: Translate; onMark: OnMark }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const pad = useRef<SignaturePad | null>(null);
  const report = () => onMark(pad.current && !pad.current.isEmpty() ? pack(cropToInk(canvas.current!)) : null);
  useEffect(() => {
    const c = canvas.current!;
    let gone = false;
    let stop = () => {};
    void import("signature_pad").then(({ default: Pad }) => {
      if (gone) return;
      const p = new Pad(c, { penColor: inkColour, minWidth: 0.9, maxWidth: 2.8 });
      pad.current = p;
      // If the screen is rotated, the strokes are preserved and scaled to fit.
      let [width, height] = [0, 0];
      const fit = () => {
        if (!c.clientWidth || (c.clientWidth === width && c.clientHeight === height)) return; // hidden or unchanged
        const share = width ? Math.min(c.clientWidth / width, c.clientHeight / height) : 1;
        const shift = width ? { x: (c.clientWidth - width * share) / 2, y: (c.clientHeight - height * share) / 2 } : { x: 0, y: 0 };
        const strokes = p.toData().map((stroke) => ({
          ...stroke, points: stroke.points.map((at) => ({ ...at, x: at.x * share + shift.x, y: at.y * share + shift.y })),
        }));
        [width, height] = [c.clientWidth, c.clientHeight];
        const dense = Math.max(2, window.devicePixelRatio || 1);
        c.width = width * dense;
        c.height = height * dense;
        c.getContext("2d")!.scale(dense, dense);
        p.clear();
        p.fromData(strokes);
        report();
      };
      fit();
      const observer = new ResizeObserver(fit);
      observer.observe(c);
      p.addEventListener("endStroke", report);
      stop = () => {
        observer.disconnect();
        p.off();
      };
    });
    return () => {
      gone = true;
      stop();
    };
  }, []);
  const undo = () => {
    const p = pad.current;
    if (!p) return;
    p.fromData(p.toData().slice(0, -1));
    report();
  };
  return (
    <>
      <div class="pad">
        <canvas ref={canvas} aria-label={t("drawHere")} role="img" />
        <span class="padline" aria-hidden="true" />
      </div>
      <div class="row padtools">
        <span class="quiet small">{t("drawHere")}</span>
        <button type="button" class="bare small" onClick={undo}>{t("undo")}</button>
        <button type="button" class="bare small" onClick={() => { pad.current?.clear(); report(); }}>{t("clear")}</button>
      </div>
    </>
  );
}

function Upload({ t, onMark }: { t: Translate; onMark: OnMark }) {
  const [file, setFile] = useState<File | null>(null);
  const [clean, setClean] = useState(true);
  const [shown, setShown] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  useLayoutEffect(() => {
    if (!file) return;
    let stale = false;
    onMark(null);
    setShown(null);
    drawUploadedImage(file, clean).then(
      (picture) => {
        if (stale) return;
        setShown(picture);
        setProblem(picture ? "" : t("pictureEmpty"));
        onMark(pack(picture));
      },
      () => {
        if (stale) return;
        setProblem(t("pictureBad"));
      },
    );
    return () => { stale = true; };
  }, [file, clean]);
  return (
    <>
      <label for="picture">{t("choosePicture")}</label>
      <input id="picture" type="file" accept="image/png,image/jpeg" onChange={(e) => setFile(e.currentTarget.files?.[0] ?? null)} />
      <p class="quiet small">{t("pictureHint")}</p>
      <label class="check"><input type="checkbox" checked={clean} onChange={(e) => setClean(e.currentTarget.checked)} />{t("removeWhite")}</label>
      <p class="notice bad" role="alert">{problem}</p>
      {shown && <div class="preview"><img src={shown} alt="" /></div>}
    </>
  );
}

function Saved({ mark, alt, onMark }: { mark: AdoptedSignature; alt: string; onMark: OnMark }) {
  useEffect(() => onMark(mark), []);
  return <div class="preview"><img src={mark.picture} alt={alt} /></div>;
}

const pack = (picture: string | null): AdoptedSignature | null => (picture ? { picture, fontLabel: null } : null);
