package seal

// CheckPNG is how Pictures checks each picture.
var CheckPNG = checkPNG
