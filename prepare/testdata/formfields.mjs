// Prints the form widgets of PDFs as pdf.js reads them: a JSON array for each file, in the order of the arguments.
//
//	node formfields.mjs MODULE FILE...
//
// MODULE is the folder of pdfjs-dist. The rectangle is the displayed position, in points from the upper left corner.
// inTree is the result of getFieldObjects for the widget, which follows the form's tree of fields. The other members
// are from the annotations of the pages.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [module, ...files] = process.argv.slice(2)
const { getDocument, VerbosityLevel } = await import(pathToFileURL(join(module, 'legacy/build/pdf.mjs')))

for (const file of files) {
  const task = getDocument({
    data: new Uint8Array(await readFile(file)),
    verbosity: VerbosityLevel.ERRORS,
    isEvalSupported: false,
    standardFontDataUrl: join(module, 'standard_fonts/'),
  })
  const document = await task.promise
  const inTree = new Map()
  for (const fields of Object.values((await document.getFieldObjects()) ?? {})) {
    for (const f of fields) inTree.set(f.id, { name: f.name, type: f.type, page: f.page + 1, value: f.value })
  }
  const widgets = []
  for (let n = 1; n <= document.numPages; n++) {
    const page = await document.getPage(n)
    const viewport = page.getViewport({ scale: 1 })
    for (const a of await page.getAnnotations()) {
      if (a.subtype !== 'Widget') continue
      const [x0, y0, x1, y1] = viewport.convertToViewportRectangle(a.rect)
      widgets.push({
        object: Number.parseInt(a.id, 10),
        page: n,
        rect: [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)],
        name: a.fieldName,
        label: a.alternativeText,
        kind: a.fieldType ?? '',
        flags: a.fieldFlags ?? 0,
        value: [a.fieldValue ?? ''].flat()[0] ?? '',
        default: [a.defaultFieldValue ?? ''].flat()[0] ?? '',
        readOnly: a.readOnly,
        required: a.required,
        hidden: a.hidden,
        maxLength: a.maxLen ?? 0,
        multiline: a.multiLine ?? false,
        comb: a.comb ?? false,
        align: a.textAlignment ?? null,
        fontSize: a.defaultAppearanceData?.fontSize ?? 0,
        checkbox: a.checkBox ?? false,
        radio: a.radioButton ?? false,
        push: a.pushButton ?? false,
        state: a.exportValue ?? a.buttonValue ?? '',
        options: (a.options ?? []).map((o) => ({ Export: o.exportValue, Text: o.displayValue })),
        inTree: inTree.get(a.id) ?? null,
      })
    }
  }
  console.log(JSON.stringify(widgets))
  await task.destroy()
}
