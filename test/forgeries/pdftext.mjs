// Prints the content of a PDF according to pdf.js. The first line is the first of the file's two identifiers. It is
// followed by one line of text for each page, including the text of annotations and form fields. If pdf.js displays
// nothing, the reason is printed.
//
//	node pdftext.mjs MODULE FILE
//
// MODULE is the directory of pdfjs-dist.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [module, file] = process.argv.slice(2)
const { getDocument, VerbosityLevel } = await import(pathToFileURL(join(module, 'legacy/build/pdf.mjs')))
const task = getDocument({
  data: new Uint8Array(await readFile(file)),
  verbosity: VerbosityLevel.ERRORS,
  isEvalSupported: false,
  standardFontDataUrl: join(module, 'standard_fonts/'),
})
try {
  const document = await task.promise
  console.log('identifier', document.fingerprints[0])
  for (let n = 1; n <= document.numPages; n++) {
    const page = await document.getPage(n)
    const { items } = await page.getTextContent()
    const annotations = await page.getAnnotations()
    // pdf.js also lists hidden form fields, because a script might show them.
    const shown = annotations.filter((a) => !a.hidden).map((a) => a.textContent?.join(' ') ?? a.fieldValue ?? '')
    console.log([...items.map((i) => i.str), ...shown].join(' '))
  }
} catch (error) {
  console.log('refused', error.name, error.message)
} finally {
  await task.destroy()
}
