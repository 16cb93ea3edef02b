package revision1

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"countersign/pdf"
)

// Finder finds the active content that a revision removes. It caches results, because all dictionaries of a file can
// refer to the same large object.
type Finder struct {
	f     *pdf.File
	ctx   context.Context //nolint:containedctx // of one call
	known map[checkKey]bool
	names map[pdf.Ref]string
}

// checkKey is the cache key of one check of one object.
type checkKey struct {
	ref  pdf.Ref
	what string
}

// maxCachedAnswers is the maximum number of cached results.
const maxCachedAnswers = 1 << 16

// NewFinder returns a Finder for a file.
func NewFinder(f *pdf.File) *Finder {
	return &Finder{f: f, known: make(map[checkKey]bool), names: make(map[pdf.Ref]string)}
}

// errFound stops a search.
var errFound = errors.New("prepare: active content")

// Active returns the kind of the first change that removing active content makes in an object, or "" if there is none.
func (n *Finder) Active(ctx context.Context, v pdf.Value) (kind string, err error) {
	if !mayBeActive(v) {
		return "", nil
	}
	n.ctx = ctx
	c := cleaner{n: n}
	c.report = func(found string, of pdf.Dict) error {
		if kind = found; kind == ActionsRemoved { // one of the removed actions may have a more specific kind
			if _, err := c.clean(of.Get("AA"), 0); err != nil {
				return err
			}
		}
		return errFound
	}
	if _, err = c.clean(v, 0); errors.Is(err, errFound) {
		err = nil
	}
	return kind, err
}

// ActiveCatalog is like Active, for entries that only the catalog can contain.
func (n *Finder) ActiveCatalog(ctx context.Context, catalog pdf.Dict) (kind string, err error) {
	n.ctx = ctx
	at, err := n.atOpening(catalog)
	if err != nil || at != nil {
		return ActionsRemoved, err
	}
	for _, e := range catalogEntries { // usage rights are last
		if leaves, err := n.isRemoved(catalog, e); err != nil || leaves {
			return e.removed, err
		}
	}
	return "", nil
}

// Shows returns the type of an action that changes the displayed content, or "" if d is not such an action.
func (n *Finder) Shows(ctx context.Context, d pdf.Dict) (string, error) {
	n.ctx = ctx
	name, err := n.name(d.Get("S"))
	if err != nil || !actionTypes[name].shows {
		return "", err
	}
	return name, nil
}

// mayBeActive is a fast check that reports whether an object might contain content that must be removed.
func mayBeActive(v pdf.Value) bool {
	for _, word := range activeWords {
		if bytes.Contains(v, word) {
			return true
		}
	}
	return isElsewhere(v, "/S") || isElsewhere(v, "/Subtype")
}

// isElsewhere reports whether the value of a key might be an indirect object.
func isElsewhere(v pdf.Value, key string) bool {
	for rest := v; ; {
		i := bytes.Index(rest, []byte(key))
		if i < 0 {
			return false
		}
		rest = rest[i+len(key):]
		if after := bytes.TrimLeft(rest, "\x00\t\n\f\r "); len(after) < len(rest) && len(after) > 0 && after[0] >= '0' && after[0] <= '9' {
			return true
		}
	}
}

func (n *Finder) isRemoved(catalog pdf.Dict, e catalogEntry) (bool, error) {
	d, err := n.dict(catalog.Get(e.dictionary))
	if err != nil || d.Get(e.key).IsNull() {
		return false, err
	}
	if e.keepIf == nil {
		return true, nil
	}
	stays, err := e.keepIf(n, d)
	return !stays, err
}

// atOpening returns the replacement for the action that runs when a document is opened (7.7.2), or nil if the action
// is kept. It keeps a jump to a page, but not the actions that follow the jump.
func (n *Finder) atOpening(catalog pdf.Dict) (pdf.Value, error) {
	v, err := n.f.Resolve(catalog.Get("OpenAction"))
	if err != nil || !v.IsDict() {
		return nil, err
	}
	d, err := v.Dict()
	if err != nil {
		return nil, err
	}
	name, err := n.name(d.Get("S"))
	if err != nil {
		return nil, err
	}
	to, err := n.name(d.Get("N"))
	if err != nil {
		return nil, err
	}
	switch kind, err := n.actionKind(d); {
	case err != nil || kind != "": // an error, or an action that is removed because of its type
		return nil, err
	case name != "GoTo" && name != "GoToDp" && (name != "Named" || to == "Print"):
		return pdf.Value("null"), nil
	case d.Get("Next").IsNull():
		return nil, nil
	}
	d = d.Clone()
	d.Delete("Next")
	return d.Value(), nil
}

// actionKind returns the kind of change that removes an action (12.6.4), or "" if the action is kept.
func (n *Finder) actionKind(d pdf.Dict) (string, error) {
	s := d.Get("S")
	if s == nil {
		return "", nil
	}
	name, err := n.name(s)
	t := actionTypes[name]
	if err != nil || t.removed == "" {
		return "", err
	}
	if !slices.ContainsFunc(t.operands, func(key string) bool { return d.Get(key) != nil }) {
		return "", nil
	}
	if t.keepIf != nil {
		if stays, err := t.keepIf(n, d); err != nil || stays {
			return "", err
		}
	}
	return t.removed, nil
}

// removedKeys returns the entries to remove from an annotation or form XObject, and the kind of change. The kind is
// empty if the change is counted elsewhere.
func (n *Finder) removedKeys(d pdf.Dict) (keys []string, kind string, err error) {
	subtype := d.Get("Subtype")
	if subtype == nil {
		return nil, "", nil
	}
	name, err := n.name(subtype)
	if err != nil {
		return nil, "", err
	}
	if name == "FileAttachment" && d.Get("FS") != nil {
		spec, err := n.dict(d.Get("FS"))
		if err != nil {
			return nil, "", err
		}
		if spec.Get("EF") == nil { // an external file
			return []string{"FS"}, FileLinkRemoved, nil
		}
		program, err := n.isProgram(spec)
		switch _, counted := d.Get("FS").Ref(); {
		case err != nil || !program:
			return nil, "", err
		case counted: // counted where the program is removed from the referenced object
			return []string{"FS"}, "", nil
		}
		return []string{"FS"}, ProgramRemoved, nil
	}
	if name == "Form" { // a reference XObject (8.10.4), which shows a page of another file instead
		return []string{"Ref"}, FileLinkRemoved, nil
	}
	return activeKeys[name], MediaRemoved, nil
}

// hasEvents reports whether the value of a key AA is an additional-actions dictionary (12.6.3) with an action.
// Resources, glyphs and destinations can also be named AA.
func (n *Finder) hasEvents(v pdf.Value) (bool, error) {
	return n.cachedCheck(v, "additional actions", func(v pdf.Value) (bool, error) {
		if !v.IsDict() {
			return false, nil
		}
		d, err := v.Dict()
		for _, e := range d {
			if eventNames[e.Key] == "" {
				continue
			}
			found, err := n.cachedCheck(e.Value, "dictionary", func(v pdf.Value) (bool, error) { return v.IsDict(), nil })
			if found || err != nil {
				return found, err
			}
		}
		return false, err
	})
}

func (n *Finder) isHarmlessName(d pdf.Dict) (bool, error) {
	name, err := n.name(d.Get("N"))
	return slices.Contains(harmlessNames, name), err
}

func (n *Finder) isWebLink(d pdf.Dict) (bool, error) { return n.isWebAddress(d.Get("URI")) }

func (n *Finder) isWebBase(d pdf.Dict) (bool, error) { return n.isWebAddress(d.Get("Base")) }

// isWebAddress reports whether a link leads to a web, email or telephone address. A program could interpret a link
// without a scheme as a file, unless it begins with "www.".
func (n *Finder) isWebAddress(v pdf.Value) (bool, error) {
	return n.cachedCheck(v, "web address", func(v pdf.Value) (bool, error) {
		b, _ := v.Bytes()
		address := strings.ToLower(strings.TrimSpace(pdf.DecodeText(b[:min(len(b), 128)])))
		if strings.HasPrefix(address, "www.") {
			return true, nil
		}
		scheme, _, ok := strings.Cut(address, ":")
		return ok && slices.Contains(webSchemes, scheme), nil
	})
}

// isProgram reports whether a file specification (7.11.3) embeds a program, according to its names, its media type, or
// its first bytes.
func (n *Finder) isProgram(d pdf.Dict) (bool, error) {
	for _, key := range []string{"F", "UF", "DOS", "Mac", "Unix"} {
		yes, err := n.cachedCheck(d.Get(key), "program's name", func(v pdf.Value) (bool, error) {
			b, _ := v.Bytes()
			return isProgramName(pdf.DecodeText(b)), nil
		})
		if yes || err != nil {
			return yes, err
		}
	}
	return n.cachedCheck(d.Get("EF"), "programs", func(v pdf.Value) (bool, error) {
		if !v.IsDict() {
			return false, nil
		}
		files, err := v.Dict()
		for _, e := range files {
			yes, err := n.startsAsProgram(e.Value)
			if yes || err != nil {
				return yes, err
			}
		}
		return false, err
	})
}

// startsAsProgram reports whether an embedded file is a program, according to its media type or first bytes.
func (n *Finder) startsAsProgram(v pdf.Value) (bool, error) {
	ref, ok := v.Ref()
	if !ok {
		return false, nil
	}
	return n.cachedCheck(v, "program", func(v pdf.Value) (bool, error) {
		if !v.IsDict() {
			return false, nil
		}
		d, err := v.Dict()
		if err != nil {
			return false, err
		}
		media, err := n.name(d.Get("Subtype"))
		if err != nil {
			return false, err
		}
		if slices.Contains(programMedia, strings.ToLower(media[strings.LastIndexByte(media, '/')+1:])) {
			return true, nil
		}
		o, err := n.f.Object(ref)
		if err != nil || !o.IsStream() {
			return false, err
		}
		head, err := n.f.StreamHead(o, 16)
		return err == nil && slices.ContainsFunc(programStarts, func(start string) bool { return bytes.HasPrefix(head, []byte(start)) }), nil
	})
}

// isProgramName reports whether a file name has the extension of a program. It ignores invisible characters, and
// trailing spaces and dots.
func isProgramName(name string) bool {
	name = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Cc, unicode.Mn) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	name = strings.TrimRightFunc(name, func(r rune) bool { return r == '.' || unicode.IsSpace(r) })
	end := name[strings.LastIndexByte(name, '.')+1:]
	return len(end) < len(name) && slices.Contains(programTypes, end)
}

// cachedCheck resolves v and returns the result of a check on it. It caches the result for each object.
func (n *Finder) cachedCheck(v pdf.Value, what string, check func(pdf.Value) (bool, error)) (bool, error) {
	ref, isRef := v.Ref()
	if !isRef {
		return check(v)
	}
	if yes, ok := n.known[checkKey{ref, what}]; ok {
		return yes, nil
	}
	if err := n.ctx.Err(); err != nil {
		return false, err
	}
	v, err := n.f.Resolve(v)
	if err != nil {
		return false, err
	}
	yes, err := check(v)
	if len(n.known) >= maxCachedAnswers {
		clear(n.known)
	}
	n.known[checkKey{ref, what}] = yes
	return yes, err
}

// name resolves v and returns it as a name, or "" if it is not a name.
func (n *Finder) name(v pdf.Value) (string, error) {
	ref, isRef := v.Ref()
	if !isRef {
		name, _ := v.Name()
		return name, nil
	}
	if name, ok := n.names[ref]; ok {
		return name, nil
	}
	if err := n.ctx.Err(); err != nil {
		return "", err
	}
	v, err := n.f.Resolve(v)
	name, _ := v.Name()
	if len(n.names) >= maxCachedAnswers {
		clear(n.names)
	}
	if err == nil {
		n.names[ref] = name
	}
	return name, err
}

// dict resolves v and returns it as a dictionary, or nil if it is not a dictionary.
func (n *Finder) dict(v pdf.Value) (pdf.Dict, error) {
	v, err := n.f.Resolve(v)
	if err != nil || !v.IsDict() {
		return nil, err
	}
	return v.Dict()
}

func words(text string) []string { return strings.Fields(text) }
