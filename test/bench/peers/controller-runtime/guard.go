package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// guard denies the deletion of a config that something uses.
type guard struct {
	cached, live references
}

// Handle denies by the cache: if that is late, it denies for a moment too long. It allows only after everything was read again.
func (g *guard) Handle(ctx context.Context, req admission.Request) admission.Response {
	// Not req.Name, which is empty in a DELETECOLLECTION.
	var config metav1.PartialObjectMetadata
	if err := json.Unmarshal(req.OldObject.Raw, &config); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if config.Name == "" {
		return admission.Errored(http.StatusBadRequest, errors.New("the review does not name what is deleted"))
	}
	for _, references := range []references{g.cached, g.live} {
		user, err := references.whoUses(ctx, config.Name)
		if err != nil {
			return admission.Errored(http.StatusServiceUnavailable, err)
		}
		if user != "" {
			return admission.Denied(fmt.Sprintf("%s is in use by %s", config.Name, user))
		}
	}
	return admission.Allowed("")
}
