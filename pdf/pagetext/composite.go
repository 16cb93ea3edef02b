package pagetext

import "countersign/pdf"

// readComposite reads a Type 0 font (9.7).
func (a *face) readComposite(f *pdf.File, d pdf.Dict) error {
	a.composite = true
	a.named.identity = true
	if o, ok := stream(f, d.Get("Encoding")); ok {
		if b, err := f.StreamData(o); err == nil {
			a.encoding = parseCMap(b)
		}
		sd, _ := o.Value.Dict()
		mode, _ := num(f, sd.Get("WMode"))
		a.vertical = mode == 1
	} else if v, err := f.Resolve(d.Get("Encoding")); err != nil {
		return err
	} else if name, ok := v.Name(); ok {
		if p, ok := predefinedCMap(name); ok {
			a.named, a.vertical = p, p.vertical
		}
	}
	a.cidWidth, a.down = 1000, [2]float64{880, -1000}
	list := array(f, d.Get("DescendantFonts"))
	if len(list) == 0 {
		return nil
	}
	cid := dict(f, list[0])
	a.readMetrics(f, dict(f, cid.Get("FontDescriptor")))
	if w, ok := num(f, cid.Get("DW")); ok {
		a.cidWidth = w
	}
	if v := array(f, cid.Get("DW2")); len(v) == 2 {
		a.down[0], _ = num(f, v[0])
		a.down[1], _ = num(f, v[1])
	}
	return a.readWidths(f, array(f, cid.Get("W")))
}

// readWidths reads the W array of a CIDFont (9.7.4.3).
func (a *face) readWidths(f *pdf.File, w []pdf.Value) error {
	a.cid = make(map[int]float64)
	for i := 0; i+1 < len(w); {
		first, _ := num(f, w[i])
		next, err := f.Resolve(w[i+1])
		if err != nil {
			return err
		}
		if next.IsArray() {
			list, err := next.Array()
			if err != nil {
				return nil //nolint:nilerr // keep the widths read so far
			}
			for k, v := range list {
				if len(a.cid) < maxCMap {
					a.cid[int(first)+k], _ = num(f, v)
				}
			}
			i += 2
			continue
		}
		if i+2 >= len(w) {
			break
		}
		last, _ := num(f, next)
		width, _ := num(f, w[i+2])
		if len(a.cidRanges) < maxWidthRanges {
			a.cidRanges = append(a.cidRanges, widthRange{int(first), int(last), width})
		}
		i += 3
	}
	return nil
}

const maxWidthRanges = 4096
