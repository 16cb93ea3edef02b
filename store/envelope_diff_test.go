package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// prepared stores a draft with two signers and two documents. The second document was prepared. Each signer has a field
// on each document.
func (f *fixture) prepared() *models.Envelope {
	f.t.Helper()
	e, err := f.draft(models.Envelope{Subject: ptr("Lease of the mill")})
	require.NoError(f.t, err)
	require.NoError(f.t, change(f.t.Context(), f, e.ID, func(e *models.Envelope) error {
		var ins []models.FieldInput
		for i, name := range []string{"Ada Lovelace", "Grace Hopper"} {
			in := models.DocumentInput{Document: models.Document{
				Name: "a.pdf", SHA256: "00", Size: 9, PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: name,
			}}
			if i == 1 {
				in.PreparedSHA256, in.PreparedSize, in.PreparedKey, in.Preparation = "11", 8, "prepared", "how"
				in.PreparedChanges = []models.PreparedChange{{Kind: "script", Count: 1}}
			}
			d, err := e.AddDocument(f.act(), in, 9)
			require.NoError(f.t, err)
			s, err := e.AddSigner(f.act(), models.SignerInput{Name: name, Email: []string{"ada@first.example", "grace@second.example"}[i], RoutingOrder: 1, AuthMethod: models.AuthNone})
			require.NoError(f.t, err)
			for range 2 {
				ins = append(ins, models.FieldInput{
					DocumentID: &d.ID, SignerRef: s.ID.String(), Type: models.FieldText, Page: 1, X: 1, Y: 1, W: 10, H: 10, Origin: models.OriginTopLeft,
				})
			}
		}
		_, err := e.AddFields(f.act(), ins, models.IndexedPath)
		return err
	}))
	return must(f.Envelope(f.t.Context(), f.app.ID, e.ID))
}

func ptr[T any](v T) *T { return &v }

// TestEditDraft_SavesTheWholeDraft checks that the database contains exactly the edited draft, in order, and that other
// drafts are unchanged.
func TestEditDraft_SavesTheWholeDraft(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e, other := f.prepared(), f.prepared()
		edit := func(fn func(e *models.Envelope) error) *models.Envelope {
			t.Helper()
			var want models.Envelope
			require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error {
				err := fn(e)
				want = *e
				return err
			}))
			got, _ := f.check(e.ID)
			assert.Equal(t, want.Documents, got.Documents)
			assert.Equal(t, want.Signers, got.Signers)
			assert.Equal(t, want.Fields, got.Fields)
			assert.Equal(t, []string{models.ActorSystem}, got.Editors)
			return got
		}
		first, second := e.Documents[0].ID, e.Documents[1].ID
		edit(func(e *models.Envelope) error {
			_, err := e.EditDocument(f.act(), second, models.DocumentEdit{Order: models.Change[int]{Present: true, Value: 1}})
			return err
		})
		got := edit(func(e *models.Envelope) error { return e.RemoveField(f.act(), e.Fields[1].ID) })
		assert.Len(t, got.Fields, 3)
		got = edit(func(e *models.Envelope) error { return e.RemoveSigner(f.act(), e.Signers[0].ID) })
		assert.Len(t, got.Fields, 2)
		assert.Equal(t, "Grace Hopper", got.Signers[0].Name)
		got = edit(func(e *models.Envelope) error { _, err := e.RemoveDocument(f.act(), first); return err })
		assert.Equal(t, second, got.Documents[0].ID)

		found := func(text string) (ids []uuid.UUID) {
			list, _, err := s.Envelopes(ctx, store.EnvelopeFilter{App: f.app.ID, Search: text, Page: 1, Size: 9})
			require.NoError(t, err)
			for _, e := range list {
				ids = append(ids, e.ID)
			}
			return ids
		}
		assert.ElementsMatch(t, []uuid.UUID{e.ID, other.ID}, found("grace hopper"))
		assert.Equal(t, []uuid.UUID{other.ID}, found("lovelace"), "removed signers are not in the search index")
		for _, in := range []models.SignerInput{{Name: "Alan Turing", Email: "grace@second.example"}, {Name: "Alan Turing", Email: "alan@third.example"}} {
			in.RoutingOrder, in.AuthMethod = 1, models.AuthNone
			edit(func(e *models.Envelope) error { _, err := e.EditSigner(f.act(), e.Signers[0].ID, in); return err })
			assert.Equal(t, []uuid.UUID{e.ID}, found("turing"))
			assert.Equal(t, in.Email == "alan@third.example", slices.Contains(found("alan@third.example"), e.ID))
		}
		edit(func(e *models.Envelope) error {
			return e.Edit(f.act(), models.EnvelopeEdit{Subject: models.Change[*string]{Present: true, Value: ptr("Sale of the barn")}})
		})
		assert.Equal(t, []uuid.UUID{e.ID}, found("barn"))
		assert.Equal(t, []uuid.UUID{other.ID}, found("mill"))
		unchanged, _ := f.check(other.ID)
		assert.Equal(t, other.Fields, unchanged.Fields)
		assert.Equal(t, other.Documents, unchanged.Documents)

		files, err := s.Files(ctx, []uuid.UUID{other.ID})
		require.NoError(t, err)
		assert.ElementsMatch(t, []store.FileRef{
			{EnvelopeID: other.ID, BlobKey: "Ada Lovelace"}, {EnvelopeID: other.ID, BlobKey: "Grace Hopper"}, {EnvelopeID: other.ID, BlobKey: "prepared"},
		}, files[other.ID])
	})
}

// TestDeletedDrafts checks that a deleted draft cannot be found, and that only its audit chain remains.
func TestDeletedDrafts(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e, other := f.prepared(), f.prepared()
		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error { _, err := e.Delete(f.act()); return err }))
		_, err := s.Envelope(ctx, f.app.ID, e.ID)
		require.ErrorIs(t, err, models.ErrNotFound)
		_, err = s.EnvelopeTenant(ctx, f.app.ID, e.ID)
		require.ErrorIs(t, err, models.ErrNotFound)
		require.ErrorIs(t, change(ctx, f, e.ID, func(*models.Envelope) error { return nil }), models.ErrNotFound)
		for _, filter := range []store.EnvelopeFilter{{}, {Search: "mill"}, {Search: other.ID.String()}, {ByUpdate: true}, {Text: "mill"}} {
			filter.App, filter.Page, filter.Size = f.app.ID, 1, 9
			list, total, err := s.Envelopes(ctx, filter)
			require.NoError(t, err)
			require.Len(t, list, 1, "%+v", filter)
			assert.Equal(t, other.ID, list[0].ID)
			assert.EqualValues(t, 1, total)
		}
		none, _, err := s.Envelopes(ctx, store.EnvelopeFilter{App: f.app.ID, Search: e.ID.String(), Page: 1, Size: 9})
		require.NoError(t, err)
		assert.Empty(t, none)
		db, err := s.DB()
		require.NoError(t, err)
		for table, want := range map[string]int{"envelope_search": 1, "signers": 2, "fields": 4, "documents": 2} {
			var n int
			require.NoError(t, db.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n))
			assert.Equal(t, want, n, table)
		}
	})
}

// filled sets every stored field of a value, so that no map, slice or pointer is nil.
func filled(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		filled(value)
		v.SetMapIndex(reflect.New(v.Type().Key()).Elem(), value)
	case reflect.Struct:
		for _, f := range storedMembers(v) {
			filled(f)
		}
	}
}

func storedMembers(v reflect.Value) (out []reflect.Value) {
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("gorm") != "-" {
			out = append(out, v.Field(i))
		}
	}
	return out
}

// eachLocation calls visit for each location in a value, at any depth, and passes a function that modifies the
// location.
func eachLocation(path string, v reflect.Value, visit func(path string, change func())) {
	alter := func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Float64:
			v.SetFloat(v.Float() + 1)
		case reflect.Int, reflect.Int64:
			v.SetInt(v.Int() + 1)
		case reflect.Uint8, reflect.Uint32:
			v.SetUint(v.Uint() + 1)
		default:
			panic("no way to change a " + v.Type().String())
		}
	}
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		visit(path, func() { *at = at.Add(time.Second) })
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		eachLocation("*"+path, v.Elem(), visit)
	case reflect.Slice, reflect.Array:
		eachLocation(path+"[0]", v.Index(0), visit)
	case reflect.Map:
		key, changed := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		changed.Set(v.MapIndex(key))
		eachLocation(path+"[key]", changed, func(path string, change func()) {
			visit(path, func() { change(); v.SetMapIndex(key, changed) })
		})
		visit(path+" without a key", func() { v.SetMapIndex(key, reflect.Value{}) })
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("gorm") != "-" {
				eachLocation(path+"."+f.Name, v.Field(i), visit)
			}
		}
	default:
		visit(path, func() { alter(v) })
	}
}

// TestChange_InPlaceIsSaved checks that Change saves changes to a map, a slice element or the target of a pointer,
// even if no field is assigned.
func TestChange_InPlaceIsSaved(t *testing.T) {
	t.Parallel()
	signer, field, document := &models.Signer{}, &models.Field{}, &models.Document{}
	e := &models.Envelope{}
	visited := 0
	for name, row := range map[string]any{"Envelope": e, "Signer": signer, "Field": field, "Document": document} {
		v := reflect.ValueOf(row).Elem()
		filled(v)
		e.Signers, e.Fields, e.Documents = []*models.Signer{signer}, []*models.Field{field}, []*models.Document{document}
		eachLocation(name, v, func(path string, change func()) {
			assert.True(t, store.DetectsChange(e, change), "%s is changed and would not be saved", path)
			visited++
		})
		assert.False(t, store.DetectsChange(e, func() {}), "the envelope has not changed")
	}
	assert.Greater(t, visited, 150)
}

// TestChange_WritesOnlyChangedColumns checks that unchanged columns are not written. A write would be visible, because
// each encryption of a value is different.
func TestChange_WritesOnlyChangedColumns(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, d database) {
		s := d.open(t, 1)
		f := newFixture(t, s, d.clock)
		e, db := f.prepared(), openRaw(t, d.kind, d.url)
		stored := func() (emails, phones []string) {
			eachRow(t.Context(), t, db, "SELECT email, phone FROM signers ORDER BY position", func(row []any) {
				emails, phones = append(emails, fmt.Sprint(row[0])), append(phones, fmt.Sprint(row[1]))
			})
			return emails, phones
		}
		dial := func(phone string) {
			t.Helper()
			require.NoError(t, change(t.Context(), f, e.ID, func(e *models.Envelope) error {
				was := e.Signers[0]
				_, err := e.EditSigner(f.act(), was.ID, models.SignerInput{Name: was.Name, Email: was.Email, Phone: &phone, RoutingOrder: 1, AuthMethod: models.AuthNone})
				return err
			}))
		}
		dial("+4915100000001")
		emails, phones := stored()
		dial("+4915100000002")
		sameEmails, newPhones := stored()
		assert.Equal(t, emails, sameEmails)
		assert.NotEqual(t, phones[0], newPhones[0])
		assert.Equal(t, phones[1], newPhones[1])
		got, _ := f.check(e.ID)
		assert.Equal(t, "+4915100000002", *got.Signers[0].Phone)
		assert.Equal(t, "ada@first.example", got.Signers[0].Email)
	})
}
