// Package types names what listings of S3 hold and how requests fail.
package types

// Of a listing.
type (
	CommonPrefix struct{ Prefix *string }
	Object       struct{ Key *string }
)

// There is no such bucket or object.
type (
	NoSuchBucket struct{}
	NoSuchKey    struct{}
)

func (*NoSuchBucket) Error() string { return "NoSuchBucket" }
func (*NoSuchKey) Error() string    { return "NoSuchKey" }
