// Package types defines the entries of S3 listings and the errors of S3 requests.
package types

// The entries of a listing.
type (
	CommonPrefix struct{ Prefix *string }
	Object       struct{ Key *string }
)

// Errors for a missing bucket or object.
type (
	NoSuchBucket struct{}
	NoSuchKey    struct{}
)

func (*NoSuchBucket) Error() string { return "NoSuchBucket" }
func (*NoSuchKey) Error() string    { return "NoSuchKey" }
