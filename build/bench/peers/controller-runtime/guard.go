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

// guard denies the deletion of a config that is in use.
type guard struct {
	cached, live references
}

// Handle denies if the cache has a referrer. A late cache can only deny for a moment too long. Handle allows only after
// a live read.
func (g *guard) Handle(ctx context.Context, req admission.Request) admission.Response {
	// req.Name is empty in a DELETECOLLECTION.
	var config metav1.PartialObjectMetadata
	if err := json.Unmarshal(req.OldObject.Raw, &config); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if config.Name == "" {
		return admission.Errored(http.StatusBadRequest, errors.New("the review does not name what is deleted"))
	}
	for _, references := range []references{g.cached, g.live} {
		referrer, err := references.findReferrer(ctx, config.Name)
		if err != nil {
			return admission.Errored(http.StatusServiceUnavailable, err)
		}
		if referrer != "" {
			return admission.Denied(fmt.Sprintf("%s is in use by %s", config.Name, referrer))
		}
	}
	return admission.Allowed("")
}
