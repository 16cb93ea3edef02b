// Renders pages with pdf.js. Each line of the input is JSON: the file, the page, from 1, and
// the PNG to write, one pixel per point. Each line of the output is empty, or
// contains the reason why the page could not be rendered completely.
//
//	node render.mjs MODULE
//
// MODULE is the folder of pdfjs-dist.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const [module] = process.argv.slice(2)
console.log = console.warn = console.error // keep its complaints out of the output
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
    if (canvas) await writeFile(out, canvas.toBuffer('image/png')) // a browser also displays a page up to an error
    await task.destroy()
  }
  process.stdout.write(answer + '\n')
}
