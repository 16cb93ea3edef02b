package api

func (s *verifyHandler) routes() []route {
	return []route{
		beforeBody(s.countVerification, withFile(s.uploadLimit+maxSealOverhead, withoutReplay(forPublic(post, "/v1/verify", s.verify)))),
		beforeBody(s.countVerifiedPage, withFile(s.uploadLimit+maxSealOverhead, withoutReplay(forPublic(post, "/v1/verify/pages/:page", s.verifyPage)))),
	}
}
