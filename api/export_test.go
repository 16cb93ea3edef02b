package api

// MaxBody returns the largest body of a route that the contract names, in bytes.
func (s *Server) MaxBody(operation string) int64 {
	for i, name := range s.Routes() {
		if name == operation {
			return s.publishedRoutes()[i].maxBody()
		}
	}
	return 0
}
