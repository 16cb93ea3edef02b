//go:build azure

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
	"gocloud.dev/gcerrors"
)

// azure stores files in a container of Azure Blob Storage. An object becomes visible only when it is complete. Open
// downloads objects to a temporary file.
type azure struct{ b *blob.Bucket }

func openAzure(ctx context.Context, url string) (Store, error) {
	b, err := blob.OpenBucket(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("open container: %w", err)
	}
	return &azure{b: b}, nil
}

func (a *azure) Temp() (*os.File, error) { return uploadFile() }

func (a *azure) Put(ctx context.Context, f *os.File, key string) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	if err := a.b.Upload(ctx, key, f, &blob.WriterOptions{ContentType: contentType}); err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	return nil
}

func (a *azure) Open(ctx context.Context, key string) (*File, error) {
	return downloaded(key, func(f *os.File) error {
		err := a.b.Download(ctx, key, f, nil)
		if gcerrors.Code(err) == gcerrors.NotFound {
			return fs.ErrNotExist
		}
		return err
	})
}

func (a *azure) Delete(ctx context.Context, key string) error {
	if err := a.b.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

func (a *azure) List(ctx context.Context, prefix string) ([]string, error) {
	return list(ctx, a, prefix)
}

func (a *azure) Walk(ctx context.Context, prefix string, visit func(Entry) error) error {
	it := a.b.List(&blob.ListOptions{Prefix: prefix})
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

func (a *azure) Check(ctx context.Context) error { return check(ctx, a) }
