// Generated from the API’s OpenAPI document by `npm run generate:client`: edit the schemas in src/http instead.

export interface paths {
  '/video/metadata': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Title, duration and thumbnail of a video
     * @description Takes one metadata credit if it succeeds, and nothing otherwise. It never takes a download credit. Where the platform gives no metadata, `reason` and `retryable` beside the code say why, and whether the same request may succeed soon.
     */
    get: operations['getVideoMetadata'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/video/download': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Queue the download of a video
     * @description Takes one download credit, or the overage price of the plan once the allowance is used up. The charge and the download are recorded together or not at all. Any answer other than `202` means that the request is not charged: if that is not certain in time, the answer is `502`, and a charge that turns out to be recorded is given back. If the service cannot guarantee even that, it closes the connection without an answer; with an `Idempotency-Key`, the request can be repeated until it is answered.
     */
    post: operations['queueDownload'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/video/status': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Status of a download, and the link to its file
     * @description Costs nothing. A download goes from `queued` through `claimed` and `running` to `done` or `failed`, and returns to `queued` when an attempt is repeated. Each poll of a finished download returns a new link. A poll of a failed download succeeds: its data holds the reason, and `charge` whether it was given back: it stays where the video or its platform is at fault, and is given back where the service is.
     */
    get: operations['getDownloadStatus'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/credits': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Usage of the current billing period
     * @description Costs nothing. It includes every download that was answered with `202`.
     */
    get: operations['getCredits'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/auth/key': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Issue another API key, which is shown once
     * @description The new key belongs to the same account, works at once, and has an hourly limit of its own. Costs nothing. The account's plan limits how many keys may be in force at a time, and as many may be issued within an hour; beyond that, the answer is `400`. An owner may send it with a session of the console in place of a key: its cookie, its `Origin`, and its form token in `X-CSRF-Token`.
     */
    post: operations['issueKey'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/video/events': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * The downloads that have ended since
     * @description Costs nothing. One request for all downloads of the account: up to 100 that have ended after a cursor, by any key. None is left out, and an answer that gets lost is repeated with the same cursor. A download whose file is no longer available is `done` with the error `delivery_failed` in place of a link. One that the service has not accepted in the end, and whose charge is given back, fails with `voided`.
     */
    get: operations['listDownloadEvents'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/downloads': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * The account's downloads
     * @description Costs nothing. The newest first, by any key of the account. A download appears a moment after its `202`. With a filter that matches rarely, a page may have few downloads or none while `next` goes on.
     */
    get: operations['listDownloads'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/usage': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Usage of a billing period by day and by key
     * @description Costs nothing. The pools are as `GET /credits` has them. Days and keys may be a moment behind. What is given back counts on the day on which that happens.
     */
    get: operations['getUsage'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/documents': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * The account's invoices and credit notes
     * @description Costs nothing. The newest first; all amounts are integers in US cents, without tax. A document appears a moment after it was issued.
     */
    get: operations['listDocuments'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    VideoMetadata: {
      /** @description The platform's name in lower case, such as `youtube`. */
      platform: string;
      /** @description The platform's own id for the video. */
      video_id: string;
      title: string;
      /** @description Length in seconds. */
      duration: number;
      /** @description Address of an image. */
      thumbnail: string;
      /** @description Canonical address of the video. */
      url: string;
      /** @description Whether a download can succeed, as far as the metadata and the limits of this service say. */
      download: {
        /** @description False if the platform already says what a download would fail for. */
        possible: boolean;
        /** @description What it would fail for, as in `error` of a status; null if a download is possible. */
        reason:
          | (
              | 'video_unavailable'
              | 'private_video'
              | 'login_required'
              | 'age_restricted'
              | 'geo_blocked'
              | 'live_stream'
              | 'too_large'
              | 'too_long'
              | 'drm_protected'
              | 'unsupported_media'
              | 'platform_error'
              | 'rate_limited_by_platform'
              | 'timed_out'
              | 'voided'
              | 'internal_error'
            )
          | null;
      };
    };
    QueuedDownload: {
      /** @description Identifies the download in status requests. */
      request_token: string;
      /** @constant */
      status: 'queued';
      /** @description The platform's name in lower case, such as `youtube`. */
      platform: string;
      /** @description The platform's own id for the video. */
      video_id: string;
      /** @enum {string} */
      format: 'video' | 'audio';
      /** @enum {string} */
      quality: '360' | '480' | '720' | '1080' | '1440' | '2160' | 'best';
      /** @description True if the download is charged beyond the allowance. */
      overage: boolean;
    };
    DownloadStatus:
      | components['schemas']['DownloadInQueue']
      | components['schemas']['DownloadClaimed']
      | components['schemas']['DownloadRunning']
      | components['schemas']['DownloadDone']
      | components['schemas']['DownloadFailed'];
    /** queued */
    DownloadInQueue: {
      /** @constant */
      status: 'queued';
      /** @description The token of the request. */
      request_token: string;
      /** @description The platform's own id for the video. */
      video_id: string;
      /** @description When it was queued, in UTC. */
      queued_at: string;
      /** @description When its latest attempt began, in UTC; absent before the first. */
      started_at?: string;
      /** @description When it ended, in UTC; absent before that. */
      finished_at?: string;
      /** @description What it was charged, and what was given back of it. For display: it may be a moment behind. Absent in the first moment after the `202`. */
      charge?: components['schemas']['DownloadCharge'];
    };
    DownloadCharge: {
      /** @description Credits of the allowance that it holds: 1; or 0 for overage, and for a credit that was given back. */
      credits: number;
      /** @description Its price beyond the allowance, in US cents, whatever was given back since. */
      cents: number;
      /** @description How much of that was given back since, in US cents: by voids, waivers and credit notes that name the download. A credit note about a whole line of an invoice names none, and is not divided among them. */
      given_back_cents: number;
    };
    /** claimed */
    DownloadClaimed: {
      /** @constant */
      status: 'claimed';
      /** @description The token of the request. */
      request_token: string;
      /** @description The platform's own id for the video. */
      video_id: string;
      /** @description When it was queued, in UTC. */
      queued_at: string;
      /** @description When its latest attempt began, in UTC; absent before the first. */
      started_at?: string;
      /** @description When it ended, in UTC; absent before that. */
      finished_at?: string;
      /** @description What it was charged, and what was given back of it. For display: it may be a moment behind. Absent in the first moment after the `202`. */
      charge?: components['schemas']['DownloadCharge'];
    };
    /** running */
    DownloadRunning: {
      /** @constant */
      status: 'running';
      /** @description The token of the request. */
      request_token: string;
      /** @description The platform's own id for the video. */
      video_id: string;
      /** @description When it was queued, in UTC. */
      queued_at: string;
      /** @description When its latest attempt began, in UTC; absent before the first. */
      started_at?: string;
      /** @description When it ended, in UTC; absent before that. */
      finished_at?: string;
      /** @description What it was charged, and what was given back of it. For display: it may be a moment behind. Absent in the first moment after the `202`. */
      charge?: components['schemas']['DownloadCharge'];
      /** @description The last report of the worker; absent before the first. For display only. */
      progress?: {
        /** @description Share of the file that is downloaded, if its size is known. */
        percent: number | null;
        /** @description Bytes a second. */
        speed: number | null;
        /** @description Seconds left. */
        eta: number | null;
      };
    };
    /** done */
    DownloadDone: {
      /** @constant */
      status: 'done';
      /** @description The token of the request. */
      request_token: string;
      /** @description The platform's own id for the video. */
      video_id: string;
      /** @description When it was queued, in UTC. */
      queued_at: string;
      /** @description When its latest attempt began, in UTC; absent before the first. */
      started_at?: string;
      /** @description When it ended, in UTC; absent before that. */
      finished_at?: string;
      /** @description What it was charged, and what was given back of it. For display: it may be a moment behind. Absent in the first moment after the `202`. */
      charge?: components['schemas']['DownloadCharge'];
      /** @description A signed link to the file, another one at each poll. It asks for no key. */
      download_url: string;
      /**
       * @description Seconds until this link expires.
       * @constant
       */
      expires_in: 3600;
      /** @description Size of the file. */
      file_size_bytes: number;
      /** @description Media type of the file. */
      file_mime: string;
    };
    /** failed */
    DownloadFailed: {
      /** @constant */
      status: 'failed';
      /** @description The token of the request. */
      request_token: string;
      /** @description The platform's own id for the video. */
      video_id: string;
      /** @description When it was queued, in UTC. */
      queued_at: string;
      /** @description When its latest attempt began, in UTC; absent before the first. */
      started_at?: string;
      /** @description When it ended, in UTC; absent before that. */
      finished_at?: string;
      /** @description What it was charged, and what was given back of it. For display: it may be a moment behind. Absent in the first moment after the `202`. */
      charge?: components['schemas']['DownloadCharge'];
      /** @enum {string} */
      error:
        | 'video_unavailable'
        | 'private_video'
        | 'login_required'
        | 'age_restricted'
        | 'geo_blocked'
        | 'live_stream'
        | 'too_large'
        | 'too_long'
        | 'drm_protected'
        | 'unsupported_media'
        | 'platform_error'
        | 'rate_limited_by_platform'
        | 'timed_out'
        | 'voided'
        | 'internal_error';
      /** @description The reason, as text for people. */
      message: string;
    };
    Credits: {
      /** @description The plan of the key's account. */
      plan: string;
      /** @description Download credits. */
      downloads: {
        /** @description The plan's allowance for the billing period. */
        limit: number;
        /** @description Credits taken, at most the limit. */
        used: number;
        /** @description Limit less used. */
        remaining: number;
      };
      /** @description Metadata credits, a pool of their own. */
      metadata: {
        /** @description The plan's allowance for the billing period. */
        limit: number;
        /** @description Credits taken, at most the limit. */
        used: number;
        /** @description Limit less used. */
        remaining: number;
      };
      /** @description Charges beyond the allowance in this billing period. */
      overage: {
        /** @description Downloads charged beyond the allowance. */
        downloads: number;
        /** @description Their price, in US cents. */
        cents: number;
      };
      /** @description When the billing period began, in UTC. */
      period_start: string;
      /** @description When it ends and the next one begins, in UTC. */
      period_end: string;
    };
    IssuedKey: {
      /** @description The key itself. It is shown this once and stored nowhere. */
      key: string;
      /** @description The beginning of the key, to recognise it by. */
      key_prefix: string;
      label: string;
      /** @description When it was issued, in UTC. */
      created_at: string;
    };
    DownloadEvents: {
      /** @description Each as its status says, with a new link, in the order in which they ended. */
      events: components['schemas']['EndedDownload'][];
      /** @description The `after` of the next request. Keep it once these events are handled. */
      next: string;
    };
    EndedDownload:
      | components['schemas']['DownloadDone']
      | components['schemas']['DownloadWithoutFile']
      | components['schemas']['DownloadFailed'];
    /** done, and the file is no longer available */
    DownloadWithoutFile: {
      /** @constant */
      status: 'done';
      /** @description The token of the request. */
      request_token: string;
      /** @description The platform's own id for the video. */
      video_id: string;
      /** @description When it was queued, in UTC. */
      queued_at: string;
      /** @description When its latest attempt began, in UTC; absent before the first. */
      started_at?: string;
      /** @description When it ended, in UTC; absent before that. */
      finished_at?: string;
      /** @description What it was charged, and what was given back of it. For display: it may be a moment behind. Absent in the first moment after the `202`. */
      charge?: components['schemas']['DownloadCharge'];
      /** @constant */
      error: 'delivery_failed';
      /** @description Why there is no link, as text for people. */
      message: string;
    };
    Downloads: {
      /** @description The newest first. */
      downloads: components['schemas']['Download'][];
      /** @description The `after` of the next page; null on the last one. */
      next: string | null;
    };
    Download: {
      /** @description Identifies the download in status requests, which have the link to its file. */
      request_token: string;
      /** @enum {string} */
      status: 'queued' | 'claimed' | 'running' | 'done' | 'failed';
      /** @description The platform's name in lower case, such as `youtube`. */
      platform: string;
      /** @description The platform's own id for the video. */
      video_id: string;
      /** @description Canonical address of the video. */
      url: string;
      /** @enum {string} */
      format: 'video' | 'audio';
      /** @enum {string} */
      quality: '360' | '480' | '720' | '1080' | '1440' | '2160' | 'best';
      /** @description The API key that queued it; null if a person did, in the console. */
      key_id: string | null;
      /** @description When it was queued, in UTC. */
      queued_at: string;
      /** @description When its latest attempt began, in UTC; absent before the first. */
      started_at?: string;
      /** @description When it ended, in UTC; absent before that. */
      finished_at?: string;
      /** @description Size of the file; absent unless it is `done`. */
      file_size_bytes?: number;
      /** @description Media type of the file; absent unless it is `done`. */
      file_mime?: string;
      /**
       * @description Why it has failed; absent unless it has.
       * @enum {string}
       */
      error?:
        | 'video_unavailable'
        | 'private_video'
        | 'login_required'
        | 'age_restricted'
        | 'geo_blocked'
        | 'live_stream'
        | 'too_large'
        | 'too_long'
        | 'drm_protected'
        | 'unsupported_media'
        | 'platform_error'
        | 'rate_limited_by_platform'
        | 'timed_out'
        | 'voided'
        | 'internal_error';
      /** @description What it was charged, and what was given back of it. For display: it may be a moment behind. Absent in the first moment after the `202`. */
      charge?: components['schemas']['DownloadCharge'];
    };
    Usage: {
      /** @description The plan of the key's account. */
      plan: string;
      /** @description Download credits. */
      downloads: {
        /** @description The plan's allowance for the billing period. */
        limit: number;
        /** @description Credits taken, at most the limit. */
        used: number;
        /** @description Limit less used. */
        remaining: number;
      };
      /** @description Metadata credits, a pool of their own. */
      metadata: {
        /** @description The plan's allowance for the billing period. */
        limit: number;
        /** @description Credits taken, at most the limit. */
        used: number;
        /** @description Limit less used. */
        remaining: number;
      };
      /** @description Charges beyond the allowance in this billing period. */
      overage: {
        /** @description Downloads charged beyond the allowance. */
        downloads: number;
        /** @description Their price, in US cents. */
        cents: number;
      };
      /** @description When the billing period began, in UTC. */
      period_start: string;
      /** @description When it ends and the next one begins, in UTC. */
      period_end: string;
      /** @description The days on which something was used or given back, in their order. */
      days: {
        /** @description The day in UTC, `YYYY-MM-DD`. */
        day: string;
        /** @description Downloads that were accepted, on a credit or beyond the allowance. */
        downloads: number;
        /** @description Those of them that were beyond the allowance. */
        overage_downloads: number;
        /** @description Their price, in US cents, before what was given back. */
        overage_cents: number;
        /** @description Metadata requests that took a credit. */
        metadata_requests: number;
        /** @description Download credits that were given back on this day. */
        given_back_credits: number;
        /** @description Downloads beyond the allowance of which nothing is left to pay. */
        given_back_overage_downloads: number;
        /** @description Cents of overage that were given back on this day. */
        given_back_cents: number;
        /** @description Metadata credits that were given back on this day. */
        given_back_metadata_credits: number;
      }[];
      /** @description The keys with downloads in the period, by their ids. */
      keys: {
        /** @description Id of the API key; null for downloads that a person queued in the console. */
        key_id: string | null;
        /** @description Leading part of the key. */
        key_prefix: string | null;
        /** @description The key's label. */
        label: string | null;
        /** @description Downloads that were accepted, on a credit or beyond the allowance. */
        downloads: number;
        /** @description Those of them that were beyond the allowance. */
        overage_downloads: number;
        /** @description Their price, in US cents, before what was given back. */
        overage_cents: number;
        /** @description The days on which it queued downloads, in their order. */
        days: {
          /** @description The day in UTC, `YYYY-MM-DD`. */
          day: string;
          /** @description Downloads that were accepted, on a credit or beyond the allowance. */
          downloads: number;
          /** @description Those of them that were beyond the allowance. */
          overage_downloads: number;
          /** @description Their price, in US cents, before what was given back. */
          overage_cents: number;
        }[];
      }[];
      /** @description The `after` of the next page; null on the last one. */
      next: string | null;
    };
    Documents: {
      /** @description The newest first. */
      documents: (components['schemas']['Invoice'] | components['schemas']['CreditNote'])[];
      /** @description The `after` of the next page; null on the last one. */
      next: string | null;
    };
    /** invoice */
    Invoice: {
      /** @constant */
      type: 'invoice';
      /** @description Unique among all documents of the issuer. */
      document_number: string;
      /** @description Its number among the invoices, or the credit notes, of the account. */
      number: number;
      /** @description When it was issued, in UTC. */
      issued_at: string;
      /** @constant */
      currency: 'USD';
      /**
       * @description The first fee, or a period with the fee of the next one.
       * @enum {string}
       */
      covers: 'opening' | 'period';
      /** @description When its billing period began, in UTC. */
      period_start: string;
      /** @description When that ended, in UTC. */
      period_end: string;
      lines: {
        /** @description Number of the line. */
        line: number;
        /** @enum {string} */
        kind: 'fee' | 'fee_difference' | 'overage' | 'waivers' | 'waiver';
        description: string;
        quantity: number;
        /** @description Unit price; null if the line is not a quantity of equal items. */
        rate_cents: number | null;
        /** @description Negative for what was waived. */
        cents: number;
      }[];
      /** @description Its total without tax, in US cents. */
      net_cents: number;
      /** @description How much of that credit notes have given back since. */
      credited_cents: number;
      /** @description Net less credited. */
      left_cents: number;
    };
    /** credit note */
    CreditNote: {
      /** @constant */
      type: 'credit_note';
      /** @description Unique among all documents of the issuer. */
      document_number: string;
      /** @description Its number among the invoices, or the credit notes, of the account. */
      number: number;
      /** @description When it was issued, in UTC. */
      issued_at: string;
      /** @constant */
      currency: 'USD';
      /** @description Number of the invoice that it gives back a part of. */
      invoice_number: number;
      /** @description Case or ticket. */
      reference: string;
      /** @description What it gives back, in US cents. */
      net_cents: number;
    };
  };
  responses: {
    /** @description `invalid_request`: A parameter is missing or malformed. `unsupported_platform`: The URL does not point to a video on a supported platform. */
    'invalid_request-or-unsupported_platform': {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          /** @constant */
          success: false;
          error: {
            /** @enum {string} */
            code: 'invalid_request' | 'unsupported_platform';
            message: string;
          };
        };
      };
    };
    /** @description `unauthorized`: The API key is missing, invalid or revoked. */
    unauthorized: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          /** @constant */
          success: false;
          error: {
            /** @enum {string} */
            code: 'unauthorized';
            message: string;
          };
        };
      };
    };
    /** @description `metadata_quota_exceeded`: The metadata allowance of this billing period is used up. */
    metadata_quota_exceeded: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          /** @constant */
          success: false;
          error: {
            /** @enum {string} */
            code: 'metadata_quota_exceeded';
            message: string;
          };
        };
      };
    };
    /** @description `rate_limited`: The hourly request limit of this key is reached. */
    rate_limited: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          /** @constant */
          success: false;
          error: {
            /** @enum {string} */
            code: 'rate_limited';
            message: string;
          };
        };
      };
    };
    /** @description `internal_error`: Something went wrong here; the request was not completed. */
    internal_error: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          /** @constant */
          success: false;
          error: {
            /** @enum {string} */
            code: 'internal_error';
            message: string;
          };
        };
      };
    };
    /** @description `metadata_unavailable`: The video platform did not return metadata; try again. */
    metadata_unavailable: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          /** @constant */
          success: false;
          error: {
            /** @enum {string} */
            code: 'metadata_unavailable';
            message: string;
            /**
             * @description Why, as in `error` of a failed download.
             * @enum {string}
             */
            reason?:
              | 'video_unavailable'
              | 'private_video'
              | 'login_required'
              | 'age_restricted'
              | 'geo_blocked'
              | 'live_stream'
              | 'too_large'
              | 'too_long'
              | 'drm_protected'
              | 'unsupported_media'
              | 'platform_error'
              | 'rate_limited_by_platform'
              | 'timed_out'
              | 'voided'
              | 'internal_error';
            /** @description Whether the same request may succeed soon. */
            retryable?: boolean;
          };
        };
      };
    };
    /** @description `unavailable`: The service is temporarily unavailable; try again. */
    unavailable: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          /** @constant */
          success: false;
          error: {
            /** @enum {string} */
            code: 'unavailable';
            message: string;
          };
        };
      };
    };
    /** @description `download_quota_exceeded`: The download allowance of this billing period is used up. `overage_cap_reached`: The account owner's cap on overage charges is reached. */
    'download_quota_exceeded-or-overage_cap_reached': {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          /** @constant */
          success: false;
          error: {
            /** @enum {string} */
            code: 'download_quota_exceeded' | 'overage_cap_reached';
            message: string;
          };
        };
      };
    };
    /** @description `enqueue_failed`: The download could not be queued and is not charged; try again. */
    enqueue_failed: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          /** @constant */
          success: false;
          error: {
            /** @enum {string} */
            code: 'enqueue_failed';
            message: string;
          };
        };
      };
    };
    /** @description `invalid_request`: A parameter is missing or malformed. */
    invalid_request: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          /** @constant */
          success: false;
          error: {
            /** @enum {string} */
            code: 'invalid_request';
            message: string;
          };
        };
      };
    };
    /** @description `not_found`: There is nothing here. */
    not_found: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          /** @constant */
          success: false;
          error: {
            /** @enum {string} */
            code: 'not_found';
            message: string;
          };
        };
      };
    };
    /** @description `delivery_failed`: The file is no longer available; request a fresh download. */
    delivery_failed: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          /** @constant */
          success: false;
          error: {
            /** @enum {string} */
            code: 'delivery_failed';
            message: string;
          };
        };
      };
    };
  };
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  getVideoMetadata: {
    parameters: {
      query: {
        /** @description Address of the video, as copied from a browser or a share button on a supported platform; at most 2048 characters. */
        url: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The metadata that the platform gives for the video. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            success: true;
            data: components['schemas']['VideoMetadata'];
          };
        };
      };
      400: components['responses']['invalid_request-or-unsupported_platform'];
      401: components['responses']['unauthorized'];
      402: components['responses']['metadata_quota_exceeded'];
      429: components['responses']['rate_limited'];
      500: components['responses']['internal_error'];
      502: components['responses']['metadata_unavailable'];
      503: components['responses']['unavailable'];
    };
  };
  queueDownload: {
    parameters: {
      query?: never;
      header?: {
        /** @description 1 to 255 visible ASCII characters of your choice, such as a UUID. A request that repeats the key for the same download gets the same answer, and the download is charged once, however often and however late the request is repeated. A key belongs to the account. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description Address of the video, as copied from a browser or a share button on a supported platform; at most 2048 characters. */
          url: string;
          /**
           * @description `video` yields an MP4 file, or a JPG for an image post; `audio` yields the sound alone, in `audio_format`. On platforms of sound alone, such as SoundCloud, `video` yields the sound too.
           * @default video
           * @enum {string}
           */
          format?: 'video' | 'audio';
          /**
           * @description The picture's smaller side in pixels, or `best`. If the video does not have that size, the next smaller one is delivered, or its smallest.
           * @default best
           * @enum {string}
           */
          quality?: '360' | '480' | '720' | '1080' | '1440' | '2160' | 'best';
          /**
           * @description File type of the sound: MP3 or M4A.
           * @default mp3
           * @enum {string}
           */
          audio_format?: 'mp3' | 'm4a';
          /**
           * @description Number of the still in an image post, from 1. Everything else has only number 1.
           * @default 1
           */
          item?: number;
        };
      };
    };
    responses: {
      /** @description The download is queued and charged. */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            success: true;
            data: components['schemas']['QueuedDownload'];
          };
        };
      };
      400: components['responses']['invalid_request-or-unsupported_platform'];
      401: components['responses']['unauthorized'];
      402: components['responses']['download_quota_exceeded-or-overage_cap_reached'];
      429: components['responses']['rate_limited'];
      500: components['responses']['internal_error'];
      502: components['responses']['enqueue_failed'];
      503: components['responses']['unavailable'];
    };
  };
  getDownloadStatus: {
    parameters: {
      query: {
        /** @description The `request_token` that `POST /video/download` answered. */
        token: string;
      };
      header?: {
        /** @description `wait=N` (RFC 7240): answer when the status changes, or after N seconds, at most 60; a download that has ended is answered at once. `wait=N, until=ended`: answer only when it is `done` or `failed`, or after N seconds. `Preference-Applied` confirms both; if too many polls are waiting already, in all or of this account, the answer comes at once and without that header. The poll counts as one request of the hour. With `until=ended` it does not if it is the first to tell the end, or has waited 60 seconds in vain; nor does a full hour refuse it then. */
        Prefer?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The current status of the download. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            success: true;
            data: components['schemas']['DownloadStatus'];
          };
        };
      };
      400: components['responses']['invalid_request'];
      401: components['responses']['unauthorized'];
      404: components['responses']['not_found'];
      429: components['responses']['rate_limited'];
      500: components['responses']['internal_error'];
      502: components['responses']['delivery_failed'];
      503: components['responses']['unavailable'];
    };
  };
  getCredits: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The pools and the overage of this billing period. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            success: true;
            data: components['schemas']['Credits'];
          };
        };
      };
      400: components['responses']['invalid_request'];
      401: components['responses']['unauthorized'];
      429: components['responses']['rate_limited'];
      500: components['responses']['internal_error'];
      503: components['responses']['unavailable'];
    };
  };
  issueKey: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        'application/json': {
          /**
           * @description A name, to tell the keys of an account apart.
           * @default
           */
          label?: string;
        };
      };
    };
    responses: {
      /** @description The new key. */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            success: true;
            data: components['schemas']['IssuedKey'];
          };
        };
      };
      400: components['responses']['invalid_request'];
      401: components['responses']['unauthorized'];
      429: components['responses']['rate_limited'];
      500: components['responses']['internal_error'];
      503: components['responses']['unavailable'];
    };
  };
  listDownloadEvents: {
    parameters: {
      query?: {
        /** @description `next` of the answer before: only downloads that ended after those. Without it, the answer begins with the oldest download whose file is still kept; `now` begins with the next one that ends. */
        after?: string;
      };
      header?: {
        /** @description `wait=N` (RFC 7240): where nothing has ended, answer as soon as a download ends, or after N seconds, at most 60. `Preference-Applied` confirms it; if too many polls are waiting already, in all or of this account, the answer comes at once and without that header. A request that waits counts as one of the hour, unless it is the first to tell the end of its first download, or has waited 60 seconds in vain; nor does a full hour refuse it then. */
        Prefer?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The downloads that have ended after the cursor; none if the time is over. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            success: true;
            data: components['schemas']['DownloadEvents'];
          };
        };
      };
      400: components['responses']['invalid_request'];
      401: components['responses']['unauthorized'];
      429: components['responses']['rate_limited'];
      500: components['responses']['internal_error'];
      503: components['responses']['unavailable'];
    };
  };
  listDownloads: {
    parameters: {
      query?: {
        /** @description `next` of the page before; without it, the first page. */
        after?: string;
        /** @description Only downloads in this state. */
        status?: 'queued' | 'claimed' | 'running' | 'done' | 'failed';
        /** @description Only downloads of this API key. */
        key_id?: string;
        /** @description Only those queued on this day (UTC) or later. */
        from?: string;
        /** @description Only those queued before this day (UTC). */
        to?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of downloads. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            success: true;
            data: components['schemas']['Downloads'];
          };
        };
      };
      400: components['responses']['invalid_request'];
      401: components['responses']['unauthorized'];
      429: components['responses']['rate_limited'];
      500: components['responses']['internal_error'];
      503: components['responses']['unavailable'];
    };
  };
  getUsage: {
    parameters: {
      query?: {
        /** @description The first day of a billing period, `YYYY-MM-DD`. Default: the current one. */
        period?: string;
        /** @description `next` of the page before; without it, the first page. */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The usage of the billing period. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            success: true;
            data: components['schemas']['Usage'];
          };
        };
      };
      400: components['responses']['invalid_request'];
      401: components['responses']['unauthorized'];
      429: components['responses']['rate_limited'];
      500: components['responses']['internal_error'];
      503: components['responses']['unavailable'];
    };
  };
  listDocuments: {
    parameters: {
      query?: {
        /** @description `next` of the page before; without it, the first page. */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of documents. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            success: true;
            data: components['schemas']['Documents'];
          };
        };
      };
      400: components['responses']['invalid_request'];
      401: components['responses']['unauthorized'];
      429: components['responses']['rate_limited'];
      500: components['responses']['internal_error'];
      503: components['responses']['unavailable'];
    };
  };
}
