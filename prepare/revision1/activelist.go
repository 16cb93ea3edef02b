package revision1

import (
	"slices"

	"countersign/pdf"
)

// actionType specifies how actions of one type are treated (12.6.4).
type actionType struct {
	// removed is the kind of change that removes the action, or "" if the action is kept.
	removed string
	// operands lists keys. An action has an effect only if it contains one of them. The keys also distinguish an action
	// from a structure element (14.7.2), which also has a key S. If the list is empty, the type is sufficient.
	operands []string
	// keepIf reports whether a particular action of a removed type is kept.
	keepIf func(*Finder, pdf.Dict) (bool, error)
	// shows reports whether the action changes the displayed content. Such an action is kept, with a warning.
	shows bool
}

// actionTypes lists every type of action in ISO 32000-2 (Table 201). docs/build/preparing.md lists them, too.
//
//nolint:gochecknoglobals // a constant table
var actionTypes = map[string]actionType{
	"GoTo":             {},
	"GoToDp":           {},
	"Trans":            {},
	"Hide":             {shows: true},
	"SetOCGState":      {shows: true},
	"ResetForm":        {shows: true},
	"Named":            {removed: NamedRemoved, operands: []string{"N"}, keepIf: (*Finder).isHarmlessName},
	"URI":              {removed: LinkRemoved, operands: []string{"URI"}, keepIf: (*Finder).isWebLink},
	"Thread":           {removed: FileLinkRemoved, operands: []string{"F"}}, // an action within the document is kept
	"GoToR":            {removed: FileLinkRemoved, operands: []string{"F"}},
	"GoToE":            {removed: FileLinkRemoved, operands: []string{"F", "T"}},
	"Launch":           {removed: LaunchRemoved, operands: []string{"F", "Win", "Mac", "Unix"}},
	"SubmitForm":       {removed: SubmitRemoved, operands: []string{"F"}},
	"ImportData":       {removed: ImportRemoved, operands: []string{"F"}},
	"JavaScript":       {removed: JavaScriptRemoved, operands: []string{"JS"}},
	"Rendition":        {removed: MediaRemoved, operands: []string{"R", "OP", "JS"}},
	"Sound":            {removed: MediaRemoved, operands: []string{"Sound"}},
	"Movie":            {removed: MediaRemoved, operands: []string{"Annotation", "T", "Operation"}},
	"GoTo3DView":       {removed: MediaRemoved, operands: []string{"TA", "V"}},
	"RichMediaExecute": {removed: MediaRemoved, operands: []string{"TA", "TI", "CMD"}},
}

// activeKeys lists the entries that make some types of annotations play, run or fetch content (12.5.6). The entries are
// removed, but the annotations and their appearances stay.
//
//nolint:gochecknoglobals // a constant table
var activeKeys = map[string][]string{
	"Movie":     {"Movie", "A"}, // A defines the playback and is not an action
	"Sound":     {"Sound"},
	"3D":        {"3DD", "3DA", "3DV"},
	"RichMedia": {"RichMediaContent", "RichMediaSettings"},
}

// catalogEntry is an entry to remove from a dictionary in the catalog.
type catalogEntry struct {
	dictionary, key, removed string
	keepIf                   func(*Finder, pdf.Dict) (bool, error)
}

// catalogEntries lists the entries to remove from the catalog's dictionaries (7.7.2, 7.7.4, 12.8.6).
//
//nolint:gochecknoglobals // a constant table
var catalogEntries = []catalogEntry{
	{dictionary: "AcroForm", key: "XFA", removed: XFARemoved},
	{dictionary: "Names", key: "JavaScript", removed: JavaScriptRemoved},
	{dictionary: "Names", key: "Renditions", removed: MediaRemoved},
	{dictionary: "Names", key: "AlternatePresentations", removed: MediaRemoved},
	{dictionary: "URI", key: "Base", removed: LinkRemoved, keepIf: (*Finder).isWebBase},
	{dictionary: "Perms", key: "UR", removed: RightsRemoved},
	{dictionary: "Perms", key: "UR3", removed: RightsRemoved},
}

// harmlessNames lists the named actions (12.6.4.12) that are kept. They navigate within the document, except Print,
// which requires confirmation. Other names are menu commands of specific programs.
//
//nolint:gochecknoglobals // a constant table
var harmlessNames = []string{"NextPage", "PrevPage", "FirstPage", "LastPage", "Print"}

// webSchemes lists the URI schemes of links that are not removed. A viewer shows the target of such a link, and opens
// it in another program only when the user clicks it.
//
//nolint:gochecknoglobals // a constant table
var webSchemes = []string{"http", "https", "mailto", "tel"}

// programTypes lists the file extensions of programs, and of files that make other programs run code.
//
//nolint:gochecknoglobals // a constant table
var programTypes = words(`
	ade adp app appimage appinstaller application appref-ms appx appxbundle apk asp aspx bas bat bundle cab chm class cmd com
	command cpl crt csh deb desktop diagcab dll dmg docm dotm drv elf exe fxp gadget hlp hta img inf ins ipa iso isp its jar js jse ksh
	library-ms lnk mad maf mag mam maq mar mas mat mau mav maw mda mdb mde mdt mdw mdz mjs msc msh msi msix msixbundle msp mst
	msu ocx one pcd php pif pkg pl plg potm ppam ppsm pptm prf prg ps1 ps1xml ps2 psc1 psd1 psm1 py pyc pyw pyz rb reg rpm run scf scptd scpt
	scr sct search-ms settingcontent-ms sh shb shs slk sldm so swf sys terminal theme tool url vb vbe vbp vbs vhd vhdx vsmacros vsw vxd
	wasm webloc website workflow ws wsc wsf wsh xbap xla xlam xll xlsb xlsm xltm xnk zsh`)

// programMedia lists the media types of programs (Subtype, 7.11.4), without the part before the slash.
//
//nolint:gochecknoglobals // a constant table
var programMedia = words(`
	x-msdownload x-dosexec x-msdos-program vnd.microsoft.portable-executable x-executable x-elf x-sharedlib x-mach-binary x-sh x-shellscript
	x-csh x-bat x-msi x-ms-shortcut java-archive java-vm javascript ecmascript x-javascript x-python x-perl hta x-shockwave-flash wasm`)

// programStarts lists the first bytes of program files.
//
//nolint:gochecknoglobals // a constant table
var programStarts = []string{
	"MZ", "\x7fELF", "#!", "\xca\xfe\xba\xbe", "\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe", "\x00asm",
	"L\x00\x00\x00\x01\x14\x02\x00", // a Windows shortcut
	"FWS", "CWS", "ZWS",
}

// activeWords lists byte sequences. Every object with content to remove contains at least one of them.
//
//nolint:gochecknoglobals // follows from the tables
var activeWords = func() [][]byte {
	out := [][]byte{[]byte("/AA"), []byte("/EF"), []byte("/Ref"), []byte("FileAttachment"), {'#'}, {'%'}}
	for name, t := range actionTypes {
		if t.removed != "" {
			out = append(out, []byte("/"+name))
		}
	}
	for name := range activeKeys {
		out = append(out, []byte("/"+name))
	}
	slices.SortFunc(out, slices.Compare)
	return out
}()
