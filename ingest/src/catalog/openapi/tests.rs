use super::*;

const SPEC: &str = r##"
openapi: 3.0.3
info: {title: Acme, version: 1}
servers:
  - url: https://api.acme.com/v1/
  - url: https://{region}.acme.com/v1
    variables: {region: {enum: [eu, us], default: eu}}
  - url: https://{tenant}.acme.io
    variables: {tenant: {default: demo}}
  - url: http://localhost:8080
  - url: /relative
paths:
  /charges/{charge}:
    parameters: []
    get: {responses: {200: {description: ok}}}
    post: {}
    summary: one
  /charges:
    post: {}
  /charges/{id}:
    get: {}
  /rest/api/3/issue: {get: {}}
  /items: {$ref: "#/components/pathItems/items"}
  /other: {$ref: "other.yaml#/x"}
  /?Action=Send: {post: {}}
  "/a b": {get: {}}
  x-internal: {get: {}}
components:
  pathItems:
    items: {get: {}, delete: {}}
"##;

#[test]
fn servers_and_templates_are_taken_and_the_rest_is_said() {
    let built = build("acme", SPEC, &[], None).unwrap();
    let expected = r#"{
 "format": 1,
 "vendor": "acme",
 "servers": [
  {"host": "api.acme.com", "base": "/v1"},
  {"host": "eu.acme.com", "base": "/v1"},
  {"host": "us.acme.com", "base": "/v1"},
  {"host": "*.acme.io"}
 ],
 "routes": [
  "POST /charges",
  "GET /charges/{charge}",
  "POST /charges/{charge}",
  "DELETE /items",
  "GET /items",
  "GET /rest/api/3/issue"
 ]
}
"#;
    assert_eq!(built.text, expected);
    assert_eq!(built.operations, 6);
    assert_eq!(
        built.left_out,
        [
            "`GET /charges/{id}`: `GET /charges/{charge}` but for names",
            "path `/?Action=Send`: a query or fragment tells its operations apart, which a path cannot",
            "path `/a b`: it has spaces or an empty segment",
            "path `/other`: it refers to what is not in this file",
            "server `/relative`: no public host",
            "server `http://localhost:8080`: no public host",
        ]
    );
}

#[test]
fn what_is_built_answers_for_plain_http() {
    let built = build("acme", SPEC, &[], None).unwrap();
    let catalog = load::from_files([("acme.json", built.text.as_str())].into_iter()).unwrap();
    let route = |host: &str, path: &str| {
        let url = crate::catalog::UrlPattern {
            host: host.to_owned(),
            path: vec![crate::catalog::UrlPart::Literal(path.to_owned())],
        };
        catalog.route("GET", &url).map(|(_, operation)| operation.as_str().to_owned())
    };
    assert_eq!(route("us.acme.com", "/v1/charges/ch_1").as_deref(), Some("GET /charges/{charge}"));
    assert_eq!(route("us.acme.com", "/charges/ch_1"), None);
    assert_eq!(route("me.acme.io", "/rest/api/3/issue").as_deref(), Some("GET /rest/api/3/issue"));
    assert_eq!(route("acme.test", "/v1/items"), None);
}

#[test]
fn swagger_2_and_servers_by_hand_are_read() {
    let swagger = r#"{"swagger":"2.0","host":"API.acme.com","basePath":"/v2/","paths":{"/x":{"get":{}}}}"#;
    let text = |servers: &[String]| build("acme", swagger, servers, None).unwrap().text;
    assert_eq!(
        text(&[]),
        "{\n \"format\": 1,\n \"vendor\": \"acme\",\n \"servers\": [{\"host\": \"api.acme.com\", \"base\": \"/v2\"}],\n \"routes\": [\"GET /x\"]\n}\n"
    );
    assert!(text(&["https://eu.acme.com".to_owned()]).contains(r#""servers": [{"host": "eu.acme.com"}]"#));
}

#[test]
fn variables_that_are_the_whole_address_have_their_default() {
    let spec = r#"{"openapi":"3.1.0","servers":[{"url":"{scheme}://{host}/{base}/","variables":{
            "scheme":{"default":"https"},"host":{"default":"api.acme.com"},"base":{"default":"v3"}}}],"paths":{"/x":{"get":{}}}}"#;
    assert!(build("acme", spec, &[], None).unwrap().text.contains(r#"[{"host": "api.acme.com", "base": "/v3"}]"#));
}

#[test]
fn what_gives_no_vendor_file_is_refused_with_the_next_step() {
    let bomb = format!("openapi: 3.0.0\nservers: {}", "[".repeat(100_000));
    for (vendor, text, servers, expected) in [
        ("Acme Inc", "{}", &[][..], "no vendor id"),
        ("acme", "{", &[], "neither JSON nor YAML"),
        ("acme", "- a", &[], "no mapping"),
        ("acme", "<html>", &[], "no mapping"),
        ("acme", "{\"a\":1}", &[], "neither `openapi` nor `swagger`"),
        ("acme", r#"{"openapi":"3.0.0","paths":{"/x":{"get":{}}}}"#, &[], "`--server https://HOST/BASE`"),
        ("acme", r#"{"openapi":"3.0.0","servers":[{"url":"/v1"}]}"#, &[], "no public host (`/v1`)"),
        ("acme", r#"{"openapi":"3.0.0"}"#, &["ftp://x".to_owned()], "`ftp://x` is no server"),
        ("acme", r#"{"openapi":"3.0.0","paths":[]}"#, &["https://acme.com".to_owned()], "no operation under"),
        ("acme", bomb.as_str(), &[], "more than 1000 deep"),
    ] {
        let error = build(vendor, text, servers, None).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("; next: "), "{error}");
    }
}

#[test]
fn servers_of_single_paths_and_operations_are_named_by_what_only_they_answer() {
    let spec = r#"{"openapi":"3.0.0","servers":[{"url":"https://api.acme.com/2"}],"paths":{
        "/x":{"get":{},"post":{"servers":[{"url":"https://upload.acme.com/api/2"},{"url":"https://eu.acme.com"}]}},
        "/y":{"servers":[{"url":"https://api.acme.com/2/"}],"get":{},"put":{"servers":[{"url":"https://api.acme.com/3"}]}},
        "/z":{"get":{"servers":[{"url":"/3"}]}}}}"#;
    let built = build("acme", spec, &[], None).unwrap();
    let expected = r#"{
 "format": 1,
 "vendor": "acme",
 "servers": [
  {"host": "api.acme.com", "base": "/2"},
  {"host": "upload.acme.com", "base": "/api/2", "named_only": true},
  {"host": "eu.acme.com", "named_only": true, "also": ["upload.acme.com"]}
 ],
 "routes": ["GET /x", "POST upload.acme.com/x", "GET /y"]
}
"#;
    assert_eq!(built.text, expected);
    assert_eq!(
        built.left_out,
        [
            "`GET /z`: its server `/3` has no public host",
            "`PUT /y`: its server `api.acme.com/3` is apart from others by its path only",
        ]
    );
    let given = build("acme", spec, &["https://api.acme.com".to_owned()], None).unwrap();
    assert!(given.left_out.is_empty() && given.text.contains(r#""POST /x""#), "what is given is instead of all");
}

#[test]
fn references_are_followed_to_their_end_and_circles_are_said() {
    let mut chain: String = (1..40)
        .map(|at| format!("\"{at}\":{{\"$ref\":\"#/components/pathItems/{}\"}},", at + 1))
        .collect::<Vec<_>>()
        .concat();
    chain.push_str(r#""40":{"get":{}}"#);
    let spec = format!(
        r##"{{"openapi":"3.1.0","servers":[{{"url":"https://api.acme.com"}}],"paths":{{
        "/a/{{b}}":{{"get":{{}}}},"/near":{{"$ref":"#/components/pathItems/30"}},"/far":{{"$ref":"#/components/pathItems/1"}},
        "/twin":{{"$ref":"#/paths/~1a~1%7Bb%7D"}},"/one":{{"$ref":"#/paths/~1two"}},"/two":{{"$ref":"#/paths/~1one"}},
        "/none":{{"$ref":"#/components/pathItems/none"}},"/odd":{{"$ref":"#/components/schemas/x"}}}},
        "components":{{"pathItems":{{{chain}}}}}}}"##
    );
    let built = build("acme", &spec, &[], None).unwrap();
    assert!(built.text.contains(r#""routes": ["GET /a/{b}", "GET /near", "GET /twin"]"#), "{}", built.text);
    assert_eq!(
        built.left_out,
        [
            "path `/far`: it refers in a circle, or through too many others",
            "path `/none`: it refers to what is not in this file",
            "path `/odd`: it refers to what is not in this file",
            "path `/one`: it refers in a circle, or through too many others",
            "path `/two`: it refers in a circle, or through too many others",
        ]
    );
}

#[test]
fn what_a_vendor_file_does_not_need_may_be_odd() {
    let spec = "
openapi: 3.0.0
x: {seed: -9223372036854776000123, more: &a [1, 2], more2: &a [3], again: *a, 200: .inf}
servers: [{url: 'https://api.acme.com', variables: 3}, 7]
paths:
  /x: {get: {responses: {200: &a {description: ok}}, tags: *a, servers: none}, post: 3, 7: 8, parameters: [-9223372036854776000]}
  /y: text
components: []
";
    let built = build("acme", spec, &[], None).unwrap();
    assert!(built.text.contains(r#""routes": ["GET /x"]"#), "{}", built.text);
    let deep = format!(
        r#"{{"openapi":"3","host":"acme.com","x":{}{},"paths":{{"/x":{{"get":{{}}}}}}}}"#,
        "[".repeat(9_000),
        "]".repeat(9_000)
    );
    assert_eq!(build("acme", &deep, &[], None).unwrap().operations, 1, "what is skipped may be as deep as it likes");
}

#[test]
fn a_file_that_is_there_gets_what_it_did_not_know() {
    let existing = r#"{
 "format": 1,
 "vendor": "acme",
 "servers": [{"host": "api.acme.com", "base": "/v1"}, {"host": "up.acme.com", "named_only": true}],
 "routes": ["GET /b/{id}", "PUT /c", "PUT /odd as PUT /c"],
 "packages": [
  {
   "name": "acme",
   "editions": [{"version": "1.0.0"}],
   "modules": [{"specifiers": ["acme"], "exports": {"A": "A"}}],
   "shapes": {"A": {"new": "client"}, "client": {"client": ""}},
   "operations": {"POST up.acme.com/files": ["files.create"]}
  }
 ]
}
"#;
    let spec = r#"{"openapi":"3.0.0","servers":[{"url":"https://api.acme.com"},{"url":"https://sandbox.acme.com"}],"paths":{
        "/v1/b/{name}":{"get":{},"post":{}},"/v1/c":{"put":{}},"/v2/d":{"get":{}},
        "/files":{"servers":[{"url":"https://up.acme.com"}],"post":{},"get":{}}}}"#;
    let built = build("acme", spec, &[], Some(existing)).unwrap();
    let routes =
        r#""routes": ["GET /b/{id}", "PUT /c", "PUT /odd as PUT /c", "GET up.acme.com/files", "POST /b/{name}"]"#;
    assert_eq!(built.text, existing.replace(r#""routes": ["GET /b/{id}", "PUT /c", "PUT /odd as PUT /c"]"#, routes));
    assert_eq!((built.operations, built.known), (5, 3));
    assert_eq!(built.left_out, ["`GET /v2/d`: `api.acme.com` answers below `/v1` only"]);
    let again = build("acme", spec, &[], Some(&built.text)).unwrap();
    assert_eq!((again.text, again.known), (built.text, 5), "a second time changes nothing");
    let refused = |existing: &str| build("acme", spec, &[], Some(existing)).unwrap_err().to_string();
    assert!(refused("{").contains("it is no vendor file"));
    assert!(
        refused(&existing.replace("\"acme\",\n \"servers", "\"other\",\n \"servers"))
            .contains("it is not of vendor `acme`")
    );
    assert!(refused(&existing.replace(".acme.com", ".acme.io")).contains("is none of the file's servers"));
}

#[test]
fn what_is_too_much_is_cut_and_said() {
    let server = |at: usize| format!("{{\"url\":\"https://h{at}.acme.com\"}}");
    let servers: Vec<String> = (0..400).map(server).collect();
    let long = "y".repeat(2_000);
    let paths: String = (0..50_010).map(|at| format!("\"/x/{at:06}\":{{\"get\":{{}}}},")).collect::<Vec<_>>().concat();
    let spec = format!(
        r#"{{"openapi":"3.0.0","servers":[{}],"paths":{{{paths}"/{long}":{{"get":{{}}}}}}}}"#,
        servers.join(",")
    );
    let built = build("acme", &spec, &[], None).unwrap();
    assert_eq!((built.operations, built.text.matches("\"host\"").count()), (50_000, 256));
    assert_eq!(built.left_out, ["servers after the first 256", "what comes after the first 50000 operations"]);
    let spec =
        format!(r#"{{"openapi":"3.0.0","host":"acme.com","paths":{{"/a":{{"get":{{}}}},"/{long}":{{"get":{{}}}}}}}}"#);
    let built = build("acme", &spec, &[], None).unwrap();
    assert!(built.left_out[0].ends_with("it is longer than 2,000 bytes"), "{:?}", built.left_out);
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n\
                d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\n\
                openapi: 3.0.0\nhost: acme.com\nservers: *f\npaths: *f\n";
    let error = build("acme", bomb, &[], None).unwrap_err().to_string();
    assert!(error.contains("; next: "), "aliases that explode end: {error}");
}
