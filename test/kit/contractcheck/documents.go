package contractcheck

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	"github.com/getkin/kin-openapi/openapi3"
)

// Load merges the documents of the contract. Each document is valid on its own, and shared definitions must be the
// same in all of them.
func Load(documents ...[]byte) (*openapi3.T, error) {
	var all *openapi3.T
	for _, b := range documents {
		doc, err := openapi3.NewLoader().LoadFromData(b)
		if err != nil {
			return nil, err
		}
		if err := doc.Validate(context.Background()); err != nil {
			return nil, err
		}
		if all == nil {
			all = doc
			continue
		}
		for path, item := range doc.Paths.Map() {
			if all.Paths.Value(path) != nil {
				return nil, fmt.Errorf("several documents define %s", path)
			}
			all.Paths.Set(path, item)
		}
		all.Tags = append(all.Tags, doc.Tags...)
		c, more := all.Components, doc.Components
		for _, err := range []error{
			add(c.Schemas, more.Schemas), add(c.Responses, more.Responses), add(c.Parameters, more.Parameters), add(c.Headers, more.Headers),
			add(c.Examples, more.Examples), add(c.SecuritySchemes, more.SecuritySchemes),
		} {
			if err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func add[V any](all, more map[string]V) error {
	for name, v := range more {
		there, both := all[name]
		if !both {
			continue
		}
		a, err := unmarshalled(there)
		if err != nil {
			return err
		}
		b, err := unmarshalled(v)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(a, b) {
			return fmt.Errorf("several documents differ in %s", name)
		}
	}
	maps.Copy(all, more)
	return nil
}
