package prepare

// ParseTag is how FindTags reads a tag.
var ParseTag = parseTag
