// Package types defines the contents of S3's listings and the errors of its requests.
package types

// Of a listing.
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
