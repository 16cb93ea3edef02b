package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/s3blob"    // s3://
	"gocloud.dev/gcerrors"
)

// bucket keeps files in a cloud's object store. Objects appear whole or not at
// all. To be read they are fetched to a temporary file.
type bucket struct{ b *blob.Bucket }

func openBucket(ctx context.Context, url string) (Store, error) {
	b, err := blob.OpenBucket(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("open bucket: %w", err)
	}
	return &bucket{b: b}, nil
}

func (b *bucket) Temp() (*os.File, error) {
	f, err := os.CreateTemp("", "countersign-*.part")
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	return f, nil
}

func (b *bucket) Keep(ctx context.Context, f *os.File, key string) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("keep %s: %w", key, err)
	}
	if err := b.b.Upload(ctx, key, f, &blob.WriterOptions{ContentType: "application/pdf"}); err != nil {
		return fmt.Errorf("keep %s: %w", key, err)
	}
	return nil
}

func (b *bucket) Open(ctx context.Context, key string) (*File, error) {
	f, err := anonymousFile()
	if err != nil {
		return nil, err
	}
	if err := b.b.Download(ctx, key, f, nil); err != nil {
		if gcerrors.Code(err) == gcerrors.NotFound {
			err = fs.ErrNotExist
		}
		return nil, errors.Join(fmt.Errorf("open %s: %w", key, err), f.Close())
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return withSize(f)
}

func (b *bucket) Delete(ctx context.Context, key string) error {
	if err := b.b.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

func (b *bucket) List(ctx context.Context, prefix string) ([]string, error) {
	return list(ctx, b, prefix)
}

func (b *bucket) Walk(ctx context.Context, prefix string, visit func(Entry) error) error {
	it := b.b.List(&blob.ListOptions{Prefix: prefix})
	for {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", prefix, err)
		}
		if err := visit(Entry{Key: o.Key, Size: o.Size, Modified: o.ModTime}); err != nil {
			return err
		}
	}
}

func (b *bucket) Check(ctx context.Context) error { return check(ctx, b) }
