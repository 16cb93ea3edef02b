#!/usr/bin/env bash
# Recreates the files in this directory from those in sources. This requires LibreOffice Writer, Chromium, pdfTeX with
# hyperref, Ghostscript, librsvg, and the fonts DejaVu and IPA Gothic. The tests require none of them.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work SOURCE_DATE_EPOCH=1795305600

writer() { # writer <source> <name> [options of the filter]
  soffice --headless --infilter='HTML (StarWriter)' --convert-to "pdf:writer_pdf_Export${3:-}" --outdir "$work" "sources/$1" >/dev/null 2>&1
  mv "$work/${1%.html}.pdf" "$2.pdf"
}
writer tags-writer.html libreoffice-tags
writer tags-writer.html libreoffice-tags-pdfa ':{"SelectPdfVersion":{"type":"long","value":"2"},"UseTaggedPDF":{"type":"boolean","value":"true"}}'
writer form.html libreoffice-form ':{"ExportFormFields":{"type":"boolean","value":"true"}}'

chromium --headless --no-sandbox --disable-gpu --no-pdf-header-footer --print-to-pdf=chromium-tags.pdf "file://$PWD/sources/tags.html" 2>/dev/null

tex() { # tex <source> <name>
  (cd "$work" && pdflatex -interaction=batchmode "$OLDPWD/sources/$1.tex" >/dev/null)
  mv "$work/$1.pdf" "$2.pdf"
}
tex tags pdftex-tags
tex form pdftex-form
tex fields pdftex-fields
gs -q -dNOPAUSE -dBATCH -sDEVICE=pdfwrite -sOutputFile=ghostscript-tags.pdf pdftex-tags.pdf
gs -q -dNOPAUSE -dBATCH -sDEVICE=pdfwrite -sOutputFile=ghostscript-chromium-tags.pdf chromium-tags.pdf
rsvg-convert -f pdf -o cairo-tags.pdf sources/tags.svg
