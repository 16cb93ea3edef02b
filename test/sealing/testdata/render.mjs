// Renders pages with pdf.js. Each input line is a JSON value with the file, the page number starting from 1, and the
// path of the PNG to write at one pixel per point. Each output line is empty, or contains the reason why the page
// could not be rendered completely.
//
//	node render.mjs MODULE
//
// MODULE is the directory of pdfjs-dist.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const [module] = process.argv.slice(2)
console.log = console.warn = console.error // keep messages of pdf.js out of the output
const { getDocument, VerbosityLevel } = await import(pathToFileURL(join(module, 'legacy/build/pdf.mjs')))
for await (const line of createInterface({ input: process.stdin })) {
  const { file, page, out } = JSON.parse(line)
  const task = getDocument({
    data: new Uint8Array(await readFile(file)),
    verbosity: VerbosityLevel.ERRORS,
    isEvalSupported: false,
    standardFontDataUrl: join(module, 'standard_fonts/'),
  })
  let answer = ''
  let canvas
  try {
    const document = await task.promise
    const drawn = await document.getPage(page)
    const viewport = drawn.getViewport({ scale: 1 })
    const created = document.canvasFactory.create(Math.round(viewport.width), Math.round(viewport.height))
    canvas = created.canvas
    await drawn.render({ canvasContext: created.context, viewport, canvas, intent: 'display' }).promise
  } catch (error) {
    answer = `${error.name} ${error.stack}`.replaceAll('\n', ' ')
  } finally {
    if (canvas) await writeFile(out, canvas.toBuffer('image/png')) // a browser also displays a page up to the point of an error
    await task.destroy()
  }
  process.stdout.write(answer + '\n')
}
