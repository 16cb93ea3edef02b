// Package storage replaces the Google Cloud Storage client, which Temporal needs only for archiving histories. Archival
// is disabled, and no client can be created.
package storage

import (
	"context"
	"errors"

	"google.golang.org/api/option"
)

// ScopeFullControl is the OAuth scope with which the server would create a client.
const ScopeFullControl = "https://www.googleapis.com/auth/devstorage.full_control"

// ErrBucketNotExist and ErrObjectNotExist are the errors for a missing bucket or object. errNone is the error of every
// request.
var (
	ErrBucketNotExist = errors.New("storage: bucket doesn't exist")
	ErrObjectNotExist = errors.New("storage: object doesn't exist")

	errNone = errors.New("this server does not archive to Google Cloud Storage")
)

// Types of the client, and of a bucket and its objects.
type (
	Client         struct{}
	BucketHandle   struct{}
	ObjectHandle   struct{}
	ObjectIterator struct{}
	Writer         struct{}
	Reader         struct{}
	BucketAttrs    struct{}
	ObjectAttrs    struct{ Name string }
	Query          struct{ Prefix string }
)

// NewClient always returns an error.
func NewClient(context.Context, ...option.ClientOption) (*Client, error) { return nil, errNone }

// Bucket and the methods below are never called, because there is no client.
func (*Client) Bucket(string) *BucketHandle { return &BucketHandle{} }

func (*BucketHandle) Object(string) *ObjectHandle                     { return &ObjectHandle{} }
func (*BucketHandle) Objects(context.Context, *Query) *ObjectIterator { return &ObjectIterator{} }
func (*BucketHandle) Attrs(context.Context) (*BucketAttrs, error)     { return nil, errNone }
func (*ObjectHandle) Attrs(context.Context) (*ObjectAttrs, error)     { return nil, errNone }
func (*ObjectHandle) NewWriter(context.Context) *Writer               { return &Writer{} }
func (*ObjectHandle) NewReader(context.Context) (*Reader, error)      { return nil, errNone }
func (*ObjectIterator) Next() (*ObjectAttrs, error)                   { return nil, errNone }
func (*Writer) Write([]byte) (int, error)                             { return 0, errNone }
func (*Writer) Close() error                                          { return errNone }
func (*Writer) CloseWithError(error) error                            { return errNone }
func (*Reader) Read([]byte) (int, error)                              { return 0, errNone }
func (*Reader) Close() error                                          { return nil }
