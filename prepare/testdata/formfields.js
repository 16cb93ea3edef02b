// Prints the form widgets of PDFs as MuPDF reads them: a JSON array for each file, in the order of the arguments.
//
//	mutool run formfields.js FILE...
//
// The rectangle is the displayed position, in points from the upper left corner. MuPDF does not report the full name of
// a widget, and version 1.21 crashes when it reports the choices. This program reads both from the objects.
function fullName(widget) {
  var names = [], field = widget
  for (var depth = 0; depth < 40 && field && field.isDictionary(); depth++) {
    var name = field.get('T')
    if (name && name.isString()) names.unshift(name.asString())
    field = field.get('Parent')
  }
  return names.join('.')
}

function choices(field) {
  for (var depth = 0; depth < 40 && field && field.isDictionary(); depth++) {
    var list = field.get('Opt'), out = []
    if (list && list.isArray()) {
      for (var k = 0; k < list.length; k++) {
        var c = list.get(k)
        out.push(c.isArray() ? { Export: c.get(0).asString(), Text: c.get(1).asString() } : { Export: c.asString(), Text: c.asString() })
      }
      return out
    }
    field = field.get('Parent')
  }
  return []
}

for (var i = 0; i < scriptArgs.length; i++) {
  var document = new Document(scriptArgs[i]), found = []
  for (var n = 0; n < document.countPages(); n++) {
    // MuPDF lists a page's widgets in the order of its annotations, whose object numbers are read here.
    var objects = [], annotations = document.findPage(n).get('Annots')
    for (var k = 0; annotations && k < annotations.length; k++) {
      var subtype = annotations.get(k).get('Subtype')
      if (subtype && subtype.asName() === 'Widget') objects.push(annotations.get(k))
    }
    var widgets = document.loadPage(n).getWidgets()
    if (widgets.length !== objects.length) throw new Error(scriptArgs[i] + ': ' + widgets.length + ' widgets of ' + objects.length)
    for (var w = 0; w < widgets.length; w++) {
      var widget = widgets[w], type = widget.getFieldType()
      found.push({
        object: objects[w].asIndirect(),
        page: n + 1,
        rect: widget.getRect(),
        name: fullName(objects[w]),
        label: widget.getLabel(),
        type: type,
        flags: widget.getFieldFlags(),
        readOnly: widget.isReadOnly(),
        value: widget.getValue(),
        maxLength: type === 'text' ? widget.getMaxLen() : 0,
        options: type === 'combobox' || type === 'listbox' ? choices(objects[w]) : [],
      })
    }
  }
  print(JSON.stringify(found))
}
