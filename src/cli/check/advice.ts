export type Advice = readonly [why: string, mend: string];

const EXPRESS_RAW = "In Express, give the route express.raw({ type: '*/*' }) and mount it before express.json().";
const COMPARE =
  "createHmac('sha256', secret).update(rawBody).digest('hex'), compared with the header by crypto.timingSafeEqual";
const STORE_THEN_HANDLE = 'Answer as soon as the event is stored. Then handle the stored event.';
const LESS_BEFORE_ANSWER = `${STORE_THEN_HANDLE} Send mail, call other services and write reports after you answer.`;
const ALLOW_FIFTY =
  'Accept at least 50 concurrent deliveries. Exclude the route from the rate limit, and enlarge the database pool.';
const UNLESS_SECRET = '(This is only a warning, because a sender needs the secret to send such a body.)';

export const ADVICE = {
  stopped: [
    'The endpoint has stopped. Every delivery fails until you start it again.',
    'Find the exception in the log of the endpoint. Catch errors in each request, and return 500.',
  ],
  lateAlone: [
    'The endpoint answers a valid delivery too late, and would answer the other deliveries too late as well.',
    'Make the endpoint answer faster, then check again. To run the other probes anyway, use a longer --deadline.',
  ],
  waitsTwice: [
    'The endpoint asked hookbox to wait twice, so the check cannot tell how the endpoint handles this delivery.',
    'During the check, lift the rate limit on the route, or run only a few probes at a time with --only.',
  ],

  // No 2xx for an authentic delivery
  noAnswer: [
    'The service waits 10 s for a 2xx, then counts the delivery as failed and sends the event again.',
    STORE_THEN_HANDLE,
  ],
  cut: [
    'If no status arrives, the service counts the delivery as failed and sends the event again.',
    'Check the logs of the endpoint and its proxy for an uncaught exception.',
  ],
  takenForForged: [
    'The endpoint treats an authentic event as forged. After the last retry, the event is lost.',
    `Use the same secret on both sides, without surrounding quotes or newlines. Compute the HMAC over the raw bytes. ${EXPRESS_RAW}`,
  ],
  redirects: [
    'A redirect is not a 2xx: the service counts the delivery as failed.',
    'Register the address that the redirect leads to. Check its scheme, host, path and trailing slash.',
  ],
  noRoute: [
    'No route accepts deliveries at this address. After the last retry, every event is lost.',
    'Check the path, and check that a POST route exists.',
  ],
  refused: [
    'If a delivery gets no 2xx, the service retries it for about a day. Then the event is lost.',
    'Store every event and return a 2xx. Then decide how to handle the event.',
  ],
  failed: [
    'If a delivery gets no 2xx, the service retries it for about a day. Then the event is lost.',
    'Find the exception in the log of the endpoint. Store the event first, and handle it after you answer.',
  ],
  late: [
    'A delivery succeeds if a 2xx arrives within 10 s. This delivery counts as failed, and the service sends the event again.',
    LESS_BEFORE_ANSWER,
  ],
  nearlyLate: [
    'The response takes more than half the time that the service allows. Under load or on a slow network, deliveries will fail.',
    LESS_BEFORE_ANSWER,
  ],

  // Events of any type and form
  everyType: [
    'This is one of the eleven types of the service. The service retries a rejected event for about a day. Then the event is lost.',
    'Return a 2xx for every authentic event, even if you do not use its type. Or, in the dashboard, deselect the types that you do not use.',
  ],
  unknownType: [
    'The service may add types at any time. It would retry each event of a new type for a day, and then the event would be lost.',
    'Store events of unknown types and return a 2xx. If your code has a switch on the type, add a default case that does nothing.',
  ],
  unknownFields: [
    'The service may add fields at any time. Your endpoint would then reject every event.',
    'Allow unknown fields in the schema: remove additionalProperties: false, and do not use strict objects.',
  ],
  writesAgain: [
    'The signature covers the bytes that were sent. Parsing the body and writing it again changes these bytes (6.50 becomes ' +
      '6.5), so the authentic event is rejected and lost.',
    `Compute the HMAC over the raw bytes, not over JSON.stringify(request.body). ${EXPRESS_RAW} In Next.js, use await request.arrayBuffer().`,
  ],
  cannotRead: [
    'The body is well-formed JSON with the same values. The service may change how it formats JSON.',
    'Parse the raw bytes as UTF-8 with the JSON parser of your language.',
  ],
  decodesFirst: [
    'The signature was correct, but the endpoint computed its own signature over decoded text. Decoding replaces invalid UTF-8 ' +
      'and removes a byte order mark, so the endpoint does not verify the bytes that were sent.',
    'Compute the HMAC over the raw bytes (a Buffer, not a string): hmac.update(body), not hmac.update(body.toString()).',
  ],
  throwsOnBytes: [
    'The endpoint threw an unexpected exception. The service treats this response as an outage and keeps sending the same ' +
      'bytes for a day.',
    'Catch the errors of the decoder and the parser, and return 400.',
  ],
  takesNonsense: [
    `The 2xx confirms an event that you cannot read. ${UNLESS_SECRET}`,
    'Return 400 for a body that is not a JSON object with an id, unless you store the raw bytes of such a body.',
  ],
  throwsOnNonsense: [
    `The service treats this response as an outage and keeps sending the same bytes for a day. ${UNLESS_SECRET}`,
    'Verify the signature, then call JSON.parse in a try block, and return 400 if it throws.',
  ],
  outageForLarge: [
    'A connection that is reset or hangs looks like an outage. The sender cannot see that the event was too large.',
    'Return 413 and keep reading for a moment, so that a client that is still writing receives the response. Do ' +
      'not call request.destroy() at the limit.',
  ],
  otherThanLarge: [
    'The event was authentic, but the response does not say that the event was too large.',
    'Accept the event, or return 413. In Express, the default limit of express.raw({ limit }) is 100 KiB.',
  ],

  // Forgeries
  unsigned: [
    'A sender who knows only the URL can send events that you accept.',
    'Return 401 if X-Signature is missing or empty. Never skip verification because the signature is missing.',
  ],
  notCompared: [
    'The signature has no effect. A sender who knows only the URL can send events that you accept.',
    `Return 401 unless the whole signature matches: ${COMPARE}.`,
  ],
  bodyNotCovered: [
    'An attacker who has seen one delivery can change values in it, for example the total of an order.',
    `For each delivery, compute the signature over the whole body: ${COMPARE}.`,
  ],
  lenient: [
    'The contract requires 64 lowercase hex digits, and a 401 for any other value. Buffer.from(header, "hex"), for ' +
      'example, stops silently at the first character that is not a hex digit. (This is only a warning: the ' +
      'value had the right digits, so no forgery passes.)',
    `Reject a value that does not match /^[0-9a-f]{64}$/, then compare the whole value: ${COMPARE}.`,
  ],
  showsSignature: [
    'The response contains the correct signature of the request, so a forger can copy the signature and send forged events.',
    'In the response, say only that the signature is wrong. Do not log the expected signature or the secret.',
  ],
  wrongStatus: [
    'The endpoint rejects the delivery, but the contract requires a 401. The service treats any other status as a different fault.',
    'Return 401 if the signature is missing or does not match.',
  ],
  throwsOnForgery: [
    'A sender without the secret can cause this exception. The endpoint rejects the forgery, but its status looks like an outage.',
    'Before the comparison, return 401 if the header is missing or is not 64 lowercase hex digits: crypto.timingSafeEqual throws if the lengths differ.',
  ],
  takesForgedNonsense: [
    'The endpoint accepted a body that is neither authentic nor JSON.',
    'Verify the signature over the raw bytes, and return 401 if it does not match.',
  ],
  parsesFirst: [
    'The endpoint parsed the body before it verified the signature. Unverified bytes reach the ' +
      'parser and the code behind it, and the verified bytes may differ from the bytes that were sent.',
    "Verify the raw bytes first, then call JSON.parse. In Express, give the route express.raw({ type: '*/*' }), not express.json(). " +
      'If no later code uses the parsed body, as with hookbox, it is enough to keep the raw bytes in the verify function of express.json().',
  ],
  /** docs/adapters.md says the same. */
  parserBeforeHookbox: [
    'A parser that runs before hookbox rejects the body, so the response differs from the response to a forgery. No event is ' +
      'harmed: hookbox verifies, stores and handles the raw bytes, not the result of the parser.',
    'If the parser must run first, change nothing. Otherwise, mount the route before the parser, as in docs/adapters.md.',
  ],
  takesGet: [
    'The service never uses GET. A 2xx for a GET makes monitors and people believe that deliveries work, even when they fail.',
    'Mount the route only for POST, and return 405 for other methods. If you serve a page of your own at this ' +
      'address, ignore this warning.',
  ],
  takesPut: [
    'The service uses POST. A request with a different method can bypass checks that guard only POST. (This is only a warning, because the request was correctly signed.)',
    'Mount the route only for POST: app.post, not app.use or app.all.',
  ],
  outageForMethod: [
    'The endpoint rejects the request, but its status looks like an outage or a moved page.',
    'Return 405 or 404 for methods other than POST.',
  ],

  // Storing once
  answersFirst: [
    'After a 2xx, the service does not send the event again. If the process or the store fails after the response, the event is lost without a trace.',
    'Store first, wait for the commit, then answer: await the INSERT before response.status(200). Handle the stored event afterwards.',
  ],
  rowOrRun: [
    'If the endpoint stores the event after it responds, a crash between the two loses the event. If only the handler runs after the response, the event is safe.',
    'Make the --effects URL return {"rows": n, "count": n}: the rows in your inbox and the handler runs, counted separately.',
  ],
  noEvidence: [
    'From outside, hookbox cannot see whether the endpoint stores an event before it responds, or whether it stores each event only once.',
    'Pass --effects with a URL that contains {id}. During the test only, serve {"rows": n, "count": n} at ' +
      'this URL. Here, rows is the number of rows that your inbox has for the event, and count is how often its ' +
      'handler has run.',
  ],
  noEffects: [
    'hookbox cannot count the effects of the event.',
    'Make the --effects URL return 200 with a number, {"count": n} or {"rows": n, "count": n}. For an event without effects, n is 0.',
  ],
  stillNothing: [
    'The event was lost, or the --effects URL does not report the effects of the event.',
    'Search your inbox for the id of the event. If the --effects URL counts the rows of your inbox, it does ' +
      'not matter when the handler runs.',
  ],
  refusesDuplicates: [
    'The service sends an event again if a response is lost. If the service gets no 2xx, it retries for a day and ' +
      'then gives up, even if you already have the event.',
    'Return a 2xx for an event whose id you already know, as you did for its first delivery.',
  ],
  stumblesAtOnce: [
    'The service sends the event again, so the event is not lost, but each of these deliveries counts as failed.',
    'Two requests search for the id before either inserts it. Insert first, with a unique key: INSERT … ON CONFLICT DO NOTHING. Return a 2xx whether or not this ' +
      'inserts a row.',
  ],
  notEvenOne: [
    'The endpoint accepted none of the copies. If this happens on every retry, the event is lost.',
    'Insert the event with a unique key on its id: INSERT … ON CONFLICT DO NOTHING. Return a 2xx whether or not this inserts a row.',
  ],
  takesTwice: [
    'The service sends an event again if a response is lost, and an operator can resend it at any time. Each copy ' +
      'then causes one more order, email or refund.',
    'Put a unique key on the event id. In one transaction, run INSERT … ON CONFLICT DO NOTHING, and do the work only if the INSERT added a row.',
  ],

  // Load
  waitsForOne: [
    'One slow client delays the responses to all deliveries, so the deliveries fail.',
    'Serve requests concurrently: read bodies asynchronously, or run several workers behind the proxy.',
  ],
  givesUp: [
    'A body can arrive slowly over a bad network. This one took just over a second, yet the event would be lost.',
    'Read until the body ends: wait for the "end" event of the request, and do not treat the first chunk as the whole body.',
  ],
  cutBetween: [
    'The endpoint closed the connection between two deliveries without notice. The second delivery failed, and the ' +
      'service sends its event again.',
    'Send the header Connection: close with the last response on a connection. Read every body to its end, even if ' +
      'you reject the delivery.',
  ],
  lateUnderLoad: [
    'The endpoint answers single deliveries in time, but not the many that arrive at once after an outage. ' +
      'Those deliveries fail, and the service later resends all of them together.',
    'Before you respond, verify and store the event, and do nothing else. Store many events in one transaction, and handle them after the response.',
  ],
  refusesUnderLoad: [
    'Each of these deliveries counts as failed, and the service sends its event again after five minutes or more.',
    ALLOW_FIFTY,
  ],
  putsOff: [
    'The service may ignore your request to wait. Each of these deliveries counts as failed, and the service retries ' +
      'it on its own schedule.',
    ALLOW_FIFTY,
  ],
} as const satisfies Readonly<Record<string, Advice>>;
