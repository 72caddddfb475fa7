//! The catalog of this build, asked as binding asks it.

use std::collections::BTreeSet;

use super::*;

fn catalog() -> &'static Catalog {
    Catalog::embedded().unwrap()
}

/// The operation of a chain on a client of `specifier` at a pinned version.
fn at(specifier: &str, pinned: Option<&str>, chain: &str) -> Option<String> {
    let catalog = catalog();
    let module = catalog.module(specifier).unwrap();
    let package = catalog.package_of(module.package);
    match package.meaning(catalog.edition(module, pinned), chain) {
        Meaning::Operation(entry, _) => Some(entry.operation.as_str().to_owned()),
        _ => None,
    }
}

fn literal(host: &str, path: &str) -> UrlPattern {
    UrlPattern { host: host.to_owned(), path: vec![UrlPart::Literal(path.to_owned())] }
}

fn routed(method: &str, url: &UrlPattern) -> Option<(String, String)> {
    catalog().route(method, url).map(|(vendor, operation)| (vendor.id.clone(), operation.as_str().to_owned()))
}

#[test]
fn the_embedded_files_are_those_of_the_folder_and_sound() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog");
    let folder: BTreeSet<String> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "json"))
        .collect();
    let embedded: BTreeSet<String> = embedded::FILES.iter().map(|file| file.name.to_owned()).collect();
    assert_eq!(embedded, folder);
    let loaded = Catalog::load(&dir).unwrap();
    assert_eq!(loaded.version(), catalog().version());
    for (built, read) in catalog().packages.iter().zip(&loaded.packages) {
        assert_eq!(built.read_chains().unwrap(), *read.chains(), "{}", built.name);
    }
    for ((vendor, built), (_, read)) in catalog().all_routes().zip(loaded.all_routes()) {
        assert_eq!(format!("{built:?}"), format!("{read:?}"), "{}", vendor.id);
    }
    for (digest, word) in embedded::WORDS {
        assert_eq!((loaded.word(*digest), crate::parse::digest(word)), (Some(*word), *digest));
    }
    assert_eq!(loaded.words.get().unwrap().len(), embedded::WORDS.len());
    assert_eq!(check(catalog()), Vec::<String>::new());
    for file in embedded::FILES {
        let id = file.name.trim_end_matches(".json");
        assert!(catalog().vendors().any(|vendor| vendor.id == id), "{} is named after its vendor", file.name);
    }
}

#[test]
fn every_recorded_operation_is_reached_by_its_chain_in_its_version() {
    let catalog = catalog();
    let mut chains = 0;
    for package in &catalog.packages {
        for (chain, entries) in package.chains() {
            for entry in entries {
                let all: Vec<u8> = (0..u8::try_from(package.editions.len()).unwrap()).collect();
                for edition in if entry.editions.is_empty() { &all } else { &entry.editions } {
                    let meaning = package.meaning(usize::from(*edition), chain);
                    assert_eq!(meaning, Meaning::Operation(&entry.entry, None), "{} `{chain}`", package.name);
                    chains += 1;
                }
            }
        }
    }
    assert!(chains > 14_000, "{chains} chains");
    for (vendor, routes) in catalog.all_routes() {
        for route in routes {
            let text = route.operation.as_str();
            assert_eq!(text, text.trim(), "{}", vendor.id);
        }
    }
}

#[test]
fn chains_of_well_known_clients_across_majors() {
    let stripe = |pinned, chain| at("stripe", pinned, chain);
    assert_eq!(stripe(Some("8.222.0"), "charges.create").as_deref(), Some("POST /v1/charges"));
    assert_eq!(stripe(Some("14.25.0"), "charges.retrieve").as_deref(), Some("GET /v1/charges/{charge}"));
    assert_eq!(
        stripe(Some("23.1.0"), "subscriptions.retrieve").as_deref(),
        Some("GET /v1/subscriptions/{subscription_exposed_id}")
    );
    assert_eq!(stripe(Some("^17.7.0"), "invoices.retrieveUpcoming").as_deref(), Some("GET /v1/invoices/upcoming"));
    assert_eq!(stripe(Some("18.1.0"), "invoicePayments.list").as_deref(), Some("GET /v1/invoice_payments"));
    assert_eq!(stripe(None, "customers.list().autoPagingToArray").as_deref(), Some("GET /v1/customers"));
    assert_eq!(stripe(None, "files.create").as_deref(), Some("POST /v1/files"));
    assert_eq!(stripe(None, "v2.core.accounts.retrieve").as_deref(), Some("GET /v2/core/accounts/{id}"));
    assert_eq!(stripe(None, "charges"), None);

    let openai = |pinned, chain| at("openai", pinned, chain);
    assert_eq!(openai(Some("3.3.0"), "createChatCompletion").as_deref(), Some("POST /chat/completions"));
    assert_eq!(openai(Some("4.104.0"), "files.del").as_deref(), Some("DELETE /files/{file_id}"));
    assert_eq!(openai(Some("7.0.0"), "files.delete").as_deref(), Some("DELETE /files/{file_id}"));
    assert_eq!(openai(Some("7.0.0"), "chat.completions.parse").as_deref(), Some("POST /chat/completions"));
    assert_eq!(openai(Some("4.20.0"), "beta.assistants.list").as_deref(), Some("GET /assistants"));
    assert_eq!(openai(None, "images.edit").as_deref(), Some("POST /images/edits"));
    assert_eq!(at("@anthropic-ai/sdk", Some("0.20.0"), "messages.create").as_deref(), Some("POST /v1/messages"));

    let github = |specifier, pinned, chain| at(specifier, pinned, chain);
    let comments = Some("GET /repos/{owner}/{repo}/issues/{issue_number}/comments");
    assert_eq!(github("@octokit/rest", Some("18.12.0"), "issues.listComments").as_deref(), comments);
    assert_eq!(github("@octokit/rest", Some("22.0.0"), "rest.issues.listComments").as_deref(), comments);
    assert_eq!(github("@actions/github", None, "rest.issues.listComments.endpoint.merge").as_deref(), comments);
    assert_eq!(
        github("probot", None, "repos.compareCommits").as_deref(),
        Some("GET /repos/{owner}/{repo}/compare/{base}...{head}")
    );
    assert_eq!(github("octokit", None, "graphql").as_deref(), Some("POST /graphql"));

    assert_eq!(at("@slack/web-api", None, "chat.postMessage").as_deref(), Some("POST /api/chat.postMessage"));
    assert_eq!(at("@slack/web-api", None, "filesUploadV2").as_deref(), Some("POST /api/files.completeUploadExternal"));
    let s3 = "@aws-sdk/client-s3";
    assert_eq!(at(s3, Some("3.600.0"), "send(PutObjectCommand)").as_deref(), Some("PUT /{Key+} (PutObject)"));
    assert_eq!(at(s3, None, "putObject").as_deref(), Some("PUT /{Key+} (PutObject)"));
    assert_eq!(at("@aws-sdk/lib-dynamodb", None, "send(PutCommand)").as_deref(), Some("POST / (PutItem)"));
    assert_eq!(at("@aws-sdk/client-dynamodb", None, "send(GetItemCommand)").as_deref(), Some("POST / (GetItem)"));
    let supabase = |chain| at("@supabase/supabase-js", Some("2.40.0"), chain);
    assert_eq!(supabase("from().select").as_deref(), Some("GET /rest/v1/{table}"));
    assert_eq!(supabase("auth.signInWithPassword").as_deref(), Some("POST /auth/v1/token"));
    assert_eq!(supabase("storage.from().upload").as_deref(), Some("POST /storage/v1/object/{bucket}/{path}"));
    let messages = Some("POST /2010-04-01/Accounts/{AccountSid}/Messages.json");
    assert_eq!(at("twilio", Some("3.84.1"), "messages.create").as_deref(), messages);
    assert_eq!(at("twilio", Some("5.0.0"), "messages.create").as_deref(), messages);
    assert_eq!(
        at("googleapis", None, "gmail.v1.users.messages.send").as_deref(),
        Some("POST /gmail/v1/users/{userId}/messages/send")
    );
    assert_eq!(at("@linear/sdk", None, "createIssue").as_deref(), Some("POST /graphql (issueCreate)"));
    assert_eq!(at("resend", Some("3.2.0"), "emails.send").as_deref(), Some("POST /emails"));
    assert_eq!(at("mailgun.js", None, "messages.create").as_deref(), Some("POST /v3/{domain_name}/messages"));
}

#[test]
fn what_is_no_operation_says_what_it_is() {
    let catalog = catalog();
    let meaning = |specifier: &str, chain: &str| {
        let package = catalog.package(specifier).unwrap();
        package.meaning(package.edition(None), chain)
    };
    assert_eq!(meaning("stripe", "webhooks.constructEvent"), Meaning::Local);
    assert_eq!(meaning("stripe", "webhooks.signature.verifyHeader"), Meaning::Local);
    assert_eq!(meaning("@supabase/supabase-js", "storage.from().getPublicUrl"), Meaning::Local);
    assert_eq!(meaning("octokit", "log.debug"), Meaning::Local);
    assert!(matches!(meaning("octokit", "request"), Meaning::Dispatch([Dispatch::Route { argument: 0, keys: 1 }])));
    assert!(matches!(meaning("octokit", "paginate"), Meaning::Dispatch([_, Dispatch::Reference { .. }])));
    assert!(matches!(meaning("@aws-sdk/client-s3", "send"), Meaning::Dispatch([Dispatch::Command { argument: 0 }])));
    assert!(matches!(
        meaning("@slack/web-api", "apiCall"),
        Meaning::Dispatch([Dispatch::Chain { argument: 0, keys: 1 }])
    ));
    assert!(matches!(meaning("@supabase/supabase-js", "from().insert().select().single"), Meaning::Continuation(_)));
    assert_eq!(meaning("stripe", "charges.crate"), Meaning::Unknown);
}

#[test]
fn envelopes_and_argument_positions() {
    let catalog = catalog();
    let envelope = |specifier: &str, pinned: &str| {
        let module = catalog.module(specifier).unwrap();
        let package = catalog.package_of(module.package);
        package.editions[catalog.edition(module, Some(pinned))].envelope.clone()
    };
    assert_eq!(envelope("stripe", "17.0.0"), None);
    assert_eq!(envelope("@octokit/rest", "21.1.1").as_deref(), Some("data"));
    assert_eq!(envelope("openai", "3.3.0").as_deref(), Some("data"));
    assert_eq!(envelope("openai", "4.20.0"), None);
    assert_eq!(envelope("resend", "1.0.0"), None);
    assert_eq!(envelope("resend", "3.0.0").as_deref(), Some("data"));
    assert_eq!(envelope("plaid", "8.0.0"), None);
    assert_eq!(envelope("plaid", "12.0.0").as_deref(), Some("data"));
    let arguments = |specifier: &str, chain: &str| {
        let package = catalog.package(specifier).unwrap();
        match package.meaning(package.edition(None), chain) {
            Meaning::Operation(entry, _) => entry.arguments,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(arguments("stripe", "charges.capture"), Arguments::AfterPath);
    assert_eq!(arguments("octokit", "graphql"), Arguments::FirstObject);
    assert_eq!(arguments("googleapis", "drive.v3.files.create"), Arguments::Nested);
    assert_eq!(arguments("@supabase/supabase-js", "auth.resetPasswordForEmail"), Arguments::At(1));
}

#[test]
fn what_imports_give() {
    let catalog = catalog();
    let client = |id: ShapeId| catalog.shape(id).client.clone().map(|client| client.prefix);
    let new = |specifier: &str, name: &str| catalog.shape(catalog.exported(specifier, name)?).construct;
    let called = |id: ShapeId| catalog.shape(id).call;
    let member = |id: ShapeId, name: &str| catalog.shape(id).members.get(name).copied();
    assert_eq!(client(new("stripe", "default").unwrap()).as_deref(), Some(""));
    assert_eq!(client(called(catalog.exported("stripe", "*").unwrap()).unwrap()).as_deref(), Some(""));
    assert_eq!(client(catalog.declared("stripe", "Stripe").unwrap()).as_deref(), Some(""));
    assert_eq!(new("openai", "AzureOpenAI"), None, "Azure is not this vendor");
    let app = new("@slack/bolt", "App").unwrap();
    let slack = catalog.shape(member(app, "client").unwrap());
    assert_eq!(catalog.package_of(slack.package).name, "@slack/web-api");
    let (parameter, listener) = catalog.shape(member(app, "command").unwrap()).callback.unwrap();
    assert_eq!((parameter, member(listener, "client").is_some()), (0, true));
    assert!(member(catalog.declared("probot", "Context").unwrap(), "octokit").is_some());
    let plugin = member(catalog.exported("@octokit/core", "Octokit").unwrap(), "plugin").unwrap();
    assert_eq!(called(plugin), catalog.exported("@octokit/core", "Octokit"), "a class with plugins is that class");
    let gmail = called(member(catalog.exported("googleapis", "google").unwrap(), "gmail").unwrap()).unwrap();
    assert_eq!(catalog.shape(gmail).client.as_ref().unwrap().selector.as_deref(), Some("version"));
    let put = new("@aws-sdk/client-s3", "PutObjectCommand").unwrap();
    assert_eq!(catalog.shape(put).command.as_deref(), Some("send(PutObjectCommand)"));
    let admin = catalog.exported("firebase-admin", "default").unwrap();
    assert_eq!(client(called(member(admin, "auth").unwrap()).unwrap()).as_deref(), Some("auth"));
    assert_eq!(
        client(called(catalog.exported("@supabase/ssr", "createServerClient").unwrap()).unwrap()).as_deref(),
        Some("")
    );
    assert!(client(catalog.declared("@supabase/supabase-js", "SupabaseClient").unwrap()).is_some());
    assert!(catalog.module("@stripe/stripe-js").is_none(), "the browser library is another product");
}

#[test]
fn plain_requests_reach_one_template_of_the_host_or_nothing() {
    let found =
        |method: &str, host: &str, path: &str| routed(method, &literal(host, path)).map(|(_, operation)| operation);
    assert_eq!(found("GET", "api.stripe.com", "/v1/charges/ch_1").as_deref(), Some("GET /v1/charges/{charge}"));
    assert_eq!(found("POST", "API.STRIPE.COM", "/v1/charges?x=1").as_deref(), Some("POST /v1/charges"));
    assert_eq!(found("GET", "api.stripe.com", "/v1/nothing/here"), None);
    assert_eq!(found("GET", "example.com", "/v1/charges"), None);
    assert_eq!(found("POST", "files.stripe.com", "/v1/files").as_deref(), Some("POST /v1/files"));
    assert_eq!(found("POST", "files.stripe.com", "/v1/charges"), None, "that host answers files only");
    assert_eq!(found("POST", "api.openai.com", "/v1/chat/completions").as_deref(), Some("POST /chat/completions"));
    assert_eq!(found("POST", "api.openai.com", "/chat/completions"), None, "the base is part of the address");
    assert_eq!(found("POST", "slack.com", "/api/chat.postMessage").as_deref(), Some("POST /api/chat.postMessage"));
    assert_eq!(found("GET", "abc.supabase.co", "/rest/v1/todos").as_deref(), Some("GET /rest/v1/{table}"));
    assert_eq!(found("GET", "www.googleapis.com", "/youtube/v3/channels").as_deref(), Some("GET /youtube/v3/channels"));
    assert_eq!(found("POST", "verify.twilio.com", "/v2/Services").as_deref(), Some("POST /v2/Services"));
    assert_eq!(
        routed("GET", &literal("api-ssl.bitly.com", "/v4/bitlinks/bit.ly/abc")),
        Some(("bitly".to_owned(), "GET /v4/bitlinks/{bitlink}".to_owned()))
    );
    assert_eq!(
        routed("PATCH", &literal("api.vercel.com", "/v1/edge-config/e/items")),
        Some(("vercel".to_owned(), "PATCH /v1/edge-config/{edgeConfigId}/items".to_owned()))
    );
    let deal = UrlPattern {
        host: "api.hubapi.com".to_owned(),
        path: vec![UrlPart::Literal("/crm/v3/objects/0-3/".to_owned()), UrlPart::Value],
    };
    assert_eq!(
        routed("GET", &deal).map(|(_, operation)| operation).as_deref(),
        Some("GET /crm/v3/objects/0-3/{dealId}")
    );
    assert_eq!(catalog().vendor_of_host("api.example.ai").map(|vendor| vendor.id.as_str()), None);
    assert_eq!(catalog().vendor_of_host("api.openai.com").map(|vendor| vendor.id.as_str()), Some("openai"));
    let github = catalog().package("octokit").unwrap().vendor;
    let route = |method, path: &str| catalog().route_text(github, method, &[UrlPart::Literal(path.to_owned())]);
    assert_eq!(
        route("POST", "/app-manifests/:code/conversions").unwrap().as_str(),
        "POST /app-manifests/{code}/conversions"
    );
    assert_eq!(route("HEAD", "/installation/repositories").unwrap().as_str(), "HEAD /installation/repositories");
    assert_eq!(
        route("GET", "/repos/{owner}/{repo}/actions/variables/{name}").unwrap().as_str(),
        "GET /repos/{owner}/{repo}/actions/variables/{name}"
    );
}

#[test]
fn a_file_that_is_wrong_is_refused_with_the_reason() {
    let load = |text: &str| load::from_files([("x.json", text)].into_iter()).map(|_| ()).map_err(|e| e.to_string());
    assert!(load("{").unwrap_err().contains("`x.json` is not a vendor file"));
    assert!(load(r#"{"format":2,"vendor":"x"}"#).unwrap_err().contains("format 2 is not 1"));
    let package = |shapes: &str, operations: &str| {
        format!(
            r#"{{"format":1,"vendor":"x","packages":[{{"name":"x","editions":[{{"version":"1.0.0"}}],
                "modules":[{{"specifiers":["x"],"exports":{{"X":"X"}}}}],"shapes":{shapes},"operations":{operations}}}]}}"#
        )
    };
    assert!(load(&package("{}", "{}")).unwrap_err().contains("no shape `X`"));
    assert!(load(&package(r#"{"X":{}}"#, r#"{"get /a":["a"]}"#)).unwrap_err().contains("no operation"));
    assert!(load(&package(r#"{"X":{}}"#, r#"{"GET /a":["a @7"]}"#)).unwrap_err().contains("unknown version"));
    assert_eq!(load(&package(r#"{"X":{}}"#, r#"{"GET /a":["a @1"]}"#)), Ok(()));
}

#[test]
fn a_host_is_of_one_vendor_unless_paths_or_names_keep_them_apart() {
    let defects = |second: &str| {
        let first = r#"{"format":1,"vendor":"a","servers":[{"host":"api.acme.com","base":"/v1"}]}"#;
        let second = format!(r#"{{"format":1,"vendor":"b","servers":[{second}]}}"#);
        check(&load::from_files([("a.json", first), ("b.json", second.as_str())].into_iter()).unwrap())
    };
    let twice = ["b.json: `api.acme.com/v1/b` is a server of `a` too"];
    assert_eq!(defects(r#"{"host":"api.acme.com","base":"/v1/b"}"#), twice);
    assert_eq!(defects(r#"{"host":"api.acme.com","base":"/v10"}"#), [""; 0]);
    assert_eq!(defects(r#"{"host":"api.acme.com","named_only":true}"#), [""; 0]);
}

#[test]
fn defects_name_the_file_and_what_is_wrong() {
    let defects = |vendor: &str, package: &str| {
        let text = format!(
            r#"{{"format":1,"vendor":"x",{vendor}"packages":[{{"name":"x","modules":[{{"specifiers":["x"],
            "exports":{{"X":"X"}}}}],"shapes":{{"X":{{"new":"client"}},"client":{{"client":""}}}},{package}}}]}}"#
        );
        check(&load::from_files([("x.json", text.as_str())].into_iter()).unwrap()).join("\n").replace("x.json: ", "")
    };
    let one = r#""editions":[{"version":"1.0.0"}]"#;
    assert_eq!(defects(r#""servers":[{"host":"api.x.com","base":"/v1"}],"#, one), "");
    for (vendor, expected) in [
        (r#""servers":[{"host":"localhost"}],"#, "`localhost` is no server"),
        (r#""servers":[{"host":"x.com","base":"v1"}],"#, "`x.comv1` is no server"),
        (r#""servers":[{"host":"x.com","base":"/a{v}"}],"#, "`x.com/a{v}` is no server"),
        (r#""servers":[{"host":"x.com"},{"host":"X.com"}],"#, "`x.com` is a server twice"),
        (r#""servers":[{"host":"x.com","also":["y.com"]}],"#, "`x.com` answers for `y.com`, which is no server"),
        (r#""routes":["GET /a/{b"],"#, "`GET /a/{b` is no template"),
        (r#""routes":["GET /a/:b"],"#, "`GET /a/:b` is no template"),
        (r#""routes":["GET /a?b=c"],"#, "`GET /a?b=c` is no template"),
        (r#""routes":["GET /a//b"],"#, "`GET /a//b` is no template"),
        (r#""routes":["GET /a/"],"#, "`GET /a/` ends in `/`"),
        (r#""routes":["FETCH /a"],"#, "`FETCH /a` has no method of HTTP"),
        (r#""routes":["GET /a/{b}/{b}"],"#, "`GET /a/{b}/{b}` has a parameter without a name, or two of one"),
        (r#""routes":["GET /a/{}"],"#, "`GET /a/{}` has a parameter without a name, or two of one"),
        (r#""routes":["GET /c/12"],"#, "`GET /c/12` is of one recording, not of the vendor"),
        (r#""routes":["GET /a/{b}","GET /a/{c}"],"#, "`GET /a/{b}` and `GET /a/{c}` are one operation"),
        (r#""routes":["GET /a as GET /b"],"#, "`GET /a as GET /b` stands for an operation that there is not"),
        (r#""enum_keys":{"GET /a":["b"]},"#, "enum keys of `get /a`, which it does not have"),
    ] {
        assert_eq!(defects(vendor, one), expected);
    }
    assert_eq!(defects(r#""routes":["GET /b","GET /rest/api/3/x","GET /a as GET /b"],"#, one), "");
    for (package, expected) in [
        (r#""editions":[]"#, "no recorded version"),
        (
            r#""editions":[{"version":"2.0.0"},{"version":"1.0.0"}]"#,
            "versions 2.0.0 and 1.0.0 are not ascending majors",
        ),
        (
            r#""editions":[{"version":"1.0.0"},{"version":"5.0.0"}]"#,
            "majors 2 to 4 are of no edition: record one, or say with `through` how far version 1.0.0 stands for them",
        ),
        (
            r#""editions":[{"version":"1.0.0","through":3},{"version":"5.0.0"}]"#,
            "major 4 is of no edition: record one, or say with `through` how far version 1.0.0 stands for them",
        ),
        (
            r#""editions":[{"version":"1.0.0","through":5},{"version":"5.0.0"}]"#,
            "`through` of version 1.0.0 reaches into version 5.0.0",
        ),
        (r#""editions":[{"version":"2.0.0","through":1}]"#, "`through` of version 2.0.0 is before it"),
        (r#""editions":[{"version":"1.0.0","envelope":"a.b"}]"#, "the envelope of version 1.0.0 is no member's name"),
    ] {
        assert_eq!(defects("", package), format!("package `x`: {expected}"));
    }
    assert_eq!(defects("", r#""editions":[{"version":"1.0.0","through":4},{"version":"5.0.0"}]"#), "");
    for (package, expected) in [
        (
            r#""operations":{"GET /a":["a.get"],"GET /b":["a.get @1"]}"#,
            "`a.get` requests two operations in one version",
        ),
        (r#""local":["a.*"],"operations":{"GET /a":["a.get"]}"#, "`a.get` is local, and requests an operation"),
        (
            r#""dispatch":[{"chain":"a","by":"route"}],"operations":{"GET /a":["a"]}"#,
            "`a` requests an operation, and one that its arguments name",
        ),
        (r#""arguments":{"at":10}"#, "an argument after the first 10 holds keys or options"),
        (r#""client_options":{"argument":10}"#, "an argument after the first 10 holds keys or options"),
        (r#""chain_arguments":{"a":"none"}"#, "`chain_arguments` of `a`, which requests nothing"),
        (
            r#""chain_arguments":{"a":{"at":10}},"operations":{"GET /a":["a"]}"#,
            "`a` has its keys after the first 10 arguments",
        ),
        (r#""suffixes":[["paging","paging"]]"#, "suffix `paging` starts with neither `.` nor `(`"),
        (r#""options_keys":[""]"#, "an option without a name"),
    ] {
        assert_eq!(defects("", &format!("{one},{package}")), format!("package `x`: {expected}"));
    }
}

#[test]
fn versions_that_stand_for_others_begin_with_the_first_and_name_editions() {
    let defects = |versions: &str| {
        let text = format!(
            r#"{{"format":1,"vendor":"x","packages":[{{"name":"x","editions":[{{"version":"1.0.0"}},{{"version":"2.0.0"}}],
            "modules":[{{"specifiers":["y"],"pinned_as":"y","versions":{versions}}}],"shapes":{{}}}}]}}"#
        );
        check(&load::from_files([("x.json", text.as_str())].into_iter()).unwrap())
    };
    assert_eq!(defects(r#"[["0.0.0","1.0.0"],["4.0.0","2.0.0"]]"#), [""; 0]);
    assert_eq!(defects(r#"[["3.0.0","1.0.0"]]"#), ["x.json: versions of `y` before 3.0.0 are of no edition"]);
    assert_eq!(
        defects(r#"[["0.0.0","1.0.0"],["0.0.0","3.0.0"]]"#),
        [
            "x.json: versions 0.0.0 and 0.0.0 of `y` do not ascend",
            "x.json: versions of `y` from 0.0.0 are of edition 3.0.0, which there is not",
        ]
    );
}

#[test]
fn a_file_is_named_after_its_vendor() {
    let text = r#"{"format":1,"vendor":"x"}"#;
    let defects = check(&load::from_files([("y.json", text)].into_iter()).unwrap());
    assert_eq!(defects, ["y.json: it is of vendor `x`, whose file is `x.json`"]);
}
