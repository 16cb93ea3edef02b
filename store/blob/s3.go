package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	s3Attempts      = 3
	credentialLimit = 5 * time.Second // timeout of a request for a role's credentials
)

// s3 stores files in a bucket of Amazon S3 or of an S3-compatible service. An object becomes visible only when it is
// complete. Open downloads objects to a temporary file.
type s3 struct {
	client minio.Core
	bucket string
}

// openS3 returns the store of s3://bucket?region=…&endpoint=…&use_path_style=…&anonymous=…&profile=…. Credentials are
// taken from the environment, the shared credentials file or the role of the process, in this order.
func openS3(u *url.URL) (Store, error) {
	o, endpoint, err := s3Options(u.Query())
	if err != nil {
		return nil, fmt.Errorf("blob URL: %w", err)
	}
	if u.Host == "" {
		return nil, errors.New("blob URL: name the bucket, as in s3://bucket?region=eu-central-1")
	}
	client, err := minio.NewCore(endpoint, o)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", u.Host, err)
	}
	client.SetAppInfo("countersign", "")
	return &s3{client: *client, bucket: u.Host}, nil
}

func s3Options(q url.Values) (o *minio.Options, endpoint string, err error) {
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains([]string{"anonymous", "endpoint", "profile", "region", "use_path_style"}, name) {
			return nil, "", fmt.Errorf("unknown option %q; the S3 options are region, endpoint, use_path_style, anonymous and profile", name)
		}
	}
	o = &minio.Options{
		Secure: true, MaxRetries: s3Attempts, BucketLookup: minio.BucketLookupAuto,
		Region: cmp.Or(q.Get("region"), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
	}
	endpoint = "s3.amazonaws.com"
	if value := q.Get("endpoint"); value != "" {
		e, err := url.Parse(value)
		if err != nil || e.Host == "" || e.Scheme != "http" && e.Scheme != "https" || e.Path != "" && e.Path != "/" {
			return nil, "", errors.New("endpoint must be an address without a path, such as https://s3.example.com")
		}
		endpoint, o.Secure = e.Host, e.Scheme == "https"
	}
	if value := q.Get("use_path_style"); value != "" {
		path, err := strconv.ParseBool(value)
		if err != nil {
			return nil, "", errors.New("use_path_style must be true or false")
		}
		o.BucketLookup = minio.BucketLookupDNS
		if path {
			o.BucketLookup = minio.BucketLookupPath
		}
	}
	anonymous, err := strconv.ParseBool(cmp.Or(q.Get("anonymous"), "false"))
	if err != nil {
		return nil, "", errors.New("anonymous must be true or false")
	}
	o.Creds = credentials.New(&credentials.Static{Value: credentials.Value{SignerType: credentials.SignatureAnonymous}})
	if !anonymous {
		o.Creds = s3Credentials(q.Get("profile"), o.Region)
	}
	return o, endpoint, nil
}

// s3Credentials returns the credentials from the environment, the shared credentials file, or the role that the
// platform has assigned to this process, in this order. An error is final, so no request is sent unsigned.
func s3Credentials(profile, region string) *credentials.Credentials {
	profile = cmp.Or(profile, os.Getenv("AWS_PROFILE"))
	home, _ := os.UserHomeDir()
	file := cmp.Or(os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(home, ".aws", "credentials"))
	_, err := os.Stat(file) //nolint:gosec // the operator's own setting
	switch {
	case profile == "" && os.Getenv("AWS_ACCESS_KEY_ID") != "":
		return credentials.NewEnvAWS()
	case profile != "", err == nil && os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") == "":
		return credentials.NewFileAWSCredentials(file, profile)
	}
	return credentials.New(&credentials.IAM{Region: region, Client: &http.Client{Timeout: credentialLimit}})
}

func (s *s3) Temp() (*os.File, error) { return uploadFile() }

func (s *s3) Put(ctx context.Context, f *os.File, key string) error {
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	// Send a single request with the MD5 hash of the content. Every S3-compatible service checks the hash, whereas some
	// do not support the newer checksums.
	o := minio.PutObjectOptions{ContentType: contentType, SendContentMd5: true, DisableContentSha256: true, DisableMultipart: true}
	_, err = s.client.Client.PutObject(ctx, s.bucket, key, io.NewSectionReader(f, 0, st.Size()), st.Size(), o)
	if err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	return nil
}

func (s *s3) Open(ctx context.Context, key string) (*File, error) {
	return downloaded(key, func(f *os.File) error {
		body, _, _, err := s.client.GetObject(ctx, s.bucket, key, minio.GetObjectOptions{})
		if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
			return fs.ErrNotExist
		}
		if err != nil {
			return err
		}
		_, err = io.Copy(f, body)
		return errors.Join(err, body.Close())
	})
}

func (s *s3) Delete(ctx context.Context, key string) error {
	err := s.client.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{})
	if err != nil && minio.ToErrorResponse(err).Code != minio.NoSuchKey {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

func (s *s3) List(ctx context.Context, prefix string) ([]string, error) { return list(ctx, s, prefix) }

func (s *s3) Walk(ctx context.Context, prefix string, visit func(Entry) error) error {
	for o := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if o.Err != nil {
			return fmt.Errorf("list %s: %w", prefix, o.Err)
		}
		if err := visit(Entry{Key: o.Key, Size: o.Size, Modified: o.LastModified}); err != nil {
			return err
		}
	}
	return nil
}

func (s *s3) Check(ctx context.Context) error { return check(ctx, s) }
