/** The guard cannot judge a request. */
export class ReviewFault extends Error {
  /** Empty if the request has no readable uid. */
  readonly uid: string;

  constructor(message: string, uid = '') {
    super(message);
    this.uid = uid;
  }
}

/** The request is not a review, or lacks a field that the answer depends on. */
export class BadReview extends ReviewFault {}

/** The guard did not read the body to its end. The review may be a good one. */
export class UnreadBody extends ReviewFault {}
