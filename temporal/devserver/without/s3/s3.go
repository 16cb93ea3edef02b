// Package s3 replaces the S3 client, which Temporal needs only for archiving histories. Archival is disabled, and every
// request fails.
package s3

import (
	"context"
	"errors"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

var errNone = errors.New("this server does not archive to S3")

// Options contains the options that the server sets.
type Options struct {
	BaseEndpoint *string
	UsePathStyle bool
	Retryer      aws.Retryer
}

// The types of requests and responses.
type (
	HeadBucketInput    struct{ Bucket *string }
	HeadBucketOutput   struct{}
	HeadObjectInput    struct{ Bucket, Key *string }
	HeadObjectOutput   struct{}
	GetObjectInput     struct{ Bucket, Key *string }
	GetObjectOutput    struct{ Body io.ReadCloser }
	PutObjectOutput    struct{}
	ListObjectsV2Input struct {
		Bucket, Prefix, Delimiter, ContinuationToken *string
		MaxKeys                                      *int32
	}
	ListObjectsV2Output struct {
		CommonPrefixes        []types.CommonPrefix
		Contents              []types.Object
		IsTruncated           *bool
		NextContinuationToken *string
	}
	PutObjectInput struct {
		Bucket, Key *string
		Body        io.Reader
	}
)

// Client is a client whose requests all fail.
type Client struct{}

// NewFromConfig returns a Client.
func NewFromConfig(aws.Config, ...func(*Options)) *Client { return &Client{} }

func (*Client) HeadBucket(context.Context, *HeadBucketInput, ...func(*Options)) (*HeadBucketOutput, error) {
	return nil, errNone
}

func (*Client) HeadObject(context.Context, *HeadObjectInput, ...func(*Options)) (*HeadObjectOutput, error) {
	return nil, errNone
}

func (*Client) PutObject(context.Context, *PutObjectInput, ...func(*Options)) (*PutObjectOutput, error) {
	return nil, errNone
}

func (*Client) GetObject(context.Context, *GetObjectInput, ...func(*Options)) (*GetObjectOutput, error) {
	return nil, errNone
}

func (*Client) ListObjectsV2(context.Context, *ListObjectsV2Input, ...func(*Options)) (*ListObjectsV2Output, error) {
	return nil, errNone
}
