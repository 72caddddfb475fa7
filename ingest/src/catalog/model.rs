//! What the catalog knows, in the form in which binding asks it.
//!
//! Everything that differs between vendors is data in these types, so that adding a vendor is a file and a fixture.
//! The central idea is the [`Shape`]: what a value taken from a vendor's package is, what its members are, and what
//! calling or constructing it gives. A client is a shape; so is a class, a factory, a framework's handler argument.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use sync_core::operation::Operation;

/// Index of a [`Vendor`] in its catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VendorId(pub(crate) u16);

/// Index of a [`Package`] in its catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageId(pub(crate) u16);

/// Index of a [`Shape`] in its catalog; the identity of a kind of value while it flows through code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShapeId(pub(crate) u32);

/// A vendor and where it answers.
#[derive(Debug, Clone)]
pub struct Vendor {
    /// Vendor id, as call sites and feeds carry it.
    pub id: String,
    /// Name of its file.
    pub(crate) file: String,
    /// Hosts (and the path before every template) at which the vendor's API answers.
    pub servers: Vec<Server>,
    /// Request header that pins the API version, lower case.
    pub api_version_header: Option<String>,
    /// Whether what is a `POST` may be requested by `GET` as well.
    pub get_as_post: bool,
    /// Argument keys whose literal values are worth a digest, by erased operation.
    pub(crate) enum_keys: BTreeMap<String, Vec<String>>,
}

/// A place where a vendor's API answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Host in lower case; a leading `*` stands for any labels before it (`*.supabase.co`).
    pub host: String,
    /// What precedes every template there: `/v1` where operations are written without it. No trailing `/`.
    pub base: String,
    /// Other hosts of the vendor whose operations it answers as well.
    pub also: Vec<String>,
    /// Whether it answers only operations that name it (or one of `also`).
    pub named_only: bool,
}

/// A client library of a vendor: what its modules export and what its members request.
#[derive(Debug, Clone)]
pub struct Package {
    /// The vendor that it talks to.
    pub vendor: VendorId,
    /// Name in the registry.
    pub name: String,
    /// The versions whose members were recorded, ascending.
    pub editions: Vec<Edition>,
    /// Which argument carries the keys, where an operation does not say it.
    pub arguments: Arguments,
    /// An argument all of whose keys are among these is options of the request and never arguments of the operation.
    pub options_keys: Vec<String>,
    /// Keys that are options of the request among the arguments of the operation.
    pub options_inside: Vec<String>,
    /// Chains that give several answers of the operation they request, one after the other, and not items of one.
    pub answers_each: Vec<String>,
    /// Chains that give the vendor's answer without the envelope of the others.
    pub outside_envelope: Vec<String>,
    /// Whether an operation that answers with a list gives that list itself.
    pub bare_lists: bool,
    /// Chains whose operation a key of their argument decides.
    pub(crate) by_key: BTreeMap<String, Vec<ByKey>>,
    /// Where a client's constructor takes its options.
    pub client_options: ClientOptions,
    /// Member paths that never make a request: exact, or everything below where they end in `.*`.
    pub(crate) local: Vec<String>,
    /// What may follow an operation's chain and still names that operation.
    pub suffixes: Vec<Suffix>,
    /// Chains whose operation is named by an argument.
    pub(crate) dispatch: BTreeMap<String, Vec<Dispatch>>,
    /// Prefixes that the vendor lets callers leave out (`rest` in `octokit.rest.issues`).
    pub(crate) optional_prefixes: Vec<String>,
    /// Argument rules of chains that differ.
    pub(crate) chain_arguments: HashMap<String, Arguments>,
    /// What `chains` is read from when it is first asked for.
    pub(crate) lines: Cow<'static, str>,
    /// Chain → what it requests, by recorded version.
    pub(crate) chains: OnceLock<BTreeMap<String, Vec<ChainEntry>>>,
}

/// A recorded version of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edition {
    /// Version that was recorded.
    pub version: semver::Version,
    /// The member of a response under which this version hands out what the vendor answered.
    pub envelope: Option<String>,
    /// The last major that it stands for, where the next edition is not of the next major.
    pub(crate) through: Option<u64>,
    /// Whether the answer is the first of several that a method gives (`const [file] = await …`).
    pub answers_first: bool,
}

/// An import specifier that gives values of a package.
#[derive(Debug, Clone)]
pub struct Module {
    /// The package whose chains its clients have.
    pub package: PackageId,
    /// The registry name whose version is pinned: `@octokit/rest` for the chains of its endpoint plugin.
    pub pinned_as: String,
    /// Which recorded version stands for which versions of `pinned_as`, ascending by the first field; empty where
    /// `pinned_as` numbers its versions as the package does.
    pub(crate) versions: Vec<(semver::Version, semver::Version)>,
    /// What `require(…)` itself, or a namespace import that is called or constructed, is.
    pub itself: Option<ShapeId>,
    /// Exported values by name, `default` included.
    pub exports: BTreeMap<String, ShapeId>,
    /// Exported types by name, where the value of that type is not what an exported class constructs.
    pub types: BTreeMap<String, ShapeId>,
}

/// A function that the runtime of a package finds by the name under which a file exports it, and calls.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The package; who depends on it is run by it.
    pub specifier: String,
    /// The exported name; `default` is all of `module.exports` too.
    pub export: String,
    /// What takes the function: a shape with a callback.
    pub shape: ShapeId,
}

/// What a value is.
#[derive(Debug, Clone)]
pub struct Shape {
    /// The package that it belongs to.
    pub package: PackageId,
    /// Name in its package's file; for evidence and messages.
    pub name: String,
    /// Set where the value is a client: further members are looked up as a chain.
    pub client: Option<ClientShape>,
    /// Members that are something else than a step of a chain.
    pub members: BTreeMap<String, ShapeId>,
    /// What `new` gives.
    pub construct: Option<ShapeId>,
    /// What calling it gives, awaited or not.
    pub call: Option<ShapeId>,
    /// What a function passed to it gets: the index of the function's parameter and what that parameter is.
    pub callback: Option<(usize, ShapeId)>,
    /// Set where the value is a command (AWS): the chain that sending it stands for.
    pub command: Option<String>,
    /// Whether a base URL taken from it is one of the vendor's own (`PlaidEnvironments.sandbox`).
    pub own_url: bool,
    /// Members that hold an object of these keys, or give one that has them beside what they are given.
    pub keys: BTreeMap<String, Vec<String>>,
    /// The option that it is made with which is its client.
    pub client_in: Option<String>,
    /// The option that it is made with which holds the keys of what is called on it.
    pub keys_in: Option<String>,
}

/// A client among shapes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientShape {
    /// What precedes every chain, without a trailing `.`; may be empty.
    pub prefix: String,
    /// Key of the call's options object (or the call's only string argument) whose literal value is one more segment
    /// of the prefix: `version` in `google.gmail({ version: "v1" })`.
    pub selector: Option<String>,
}

/// Where a client's constructor takes what decides its host and version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientOptions {
    /// Index of the options argument.
    pub argument: usize,
    /// Keys (dotted where nested) that move the client to another host.
    pub base_url: Vec<String>,
    /// Whether another host, known or not, still answers the vendor's API: GitHub Enterprise, a Supabase of one's own.
    /// Not so for a wire format that others speak too (`OpenAI` with another base URL). A host that is another
    /// vendor's is that vendor's in any case.
    pub any_host: bool,
    /// Whether servers of others speak the vendor's API, so that clients are pointed at them as a matter of course: then
    /// options that are not shown may do so.
    pub spoken_elsewhere: bool,
    /// Keys of functions that make the client's requests in the place of the package's own.
    pub fetch: Vec<String>,
    /// Methods of the client through which its requests go: something else in their place may send those anywhere.
    pub requests: Vec<String>,
    /// Key that pins the API version.
    pub api_version: Option<String>,
    /// What an API version that is not given means: `sdk_default`, `account_default` or `unknown`.
    pub api_version_default: String,
}

/// Which argument of a call carries the operation's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arguments {
    /// The one at this index.
    At(usize),
    /// The one after as many arguments as the template has path parameters.
    AfterPath,
    /// The first object among them.
    FirstObject,
    /// The one at index 0, where the key `body` holds further keys one level down (`requestBody` of googleapis).
    Nested,
    /// None has keys.
    None,
}

/// What a chain requests in which recorded versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChainEntry {
    /// Indexes into [`Package::editions`]; empty means all.
    pub(crate) editions: Vec<u8>,
    pub(crate) entry: OperationEntry,
}

/// A chain that requests one operation where its argument has a key, and another where it has none of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByKey {
    /// Indexes into [`Package::editions`]; empty means all.
    pub(crate) editions: Vec<u8>,
    /// The keys; one is enough.
    pub keys: Vec<String>,
    /// What it requests with one of them.
    pub with: Operation,
    /// What it requests without.
    pub without: Operation,
}

/// An operation as a chain reaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationEntry {
    /// As the vendor writes it.
    pub operation: Operation,
    /// Which argument carries the keys.
    pub arguments: Arguments,
}

/// A tail that still names the operation before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suffix {
    /// As text behind the operation's chain: `().autoPagingEach`, `.endpoint.merge`.
    pub tail: String,
    /// What it does.
    pub kind: SuffixKind,
}

/// What a [`Suffix`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuffixKind {
    /// Hands out the items of a list page by page: callbacks and loops read `data[]`.
    Paging,
    /// Builds the request without sending it; the value names the operation where it is passed on.
    Options,
    /// Sends the same request with other plumbing (`withResponse`).
    Wrapper,
}

/// A chain whose operation is named by an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dispatch {
    /// A string `METHOD /path` (or a path alone, then GET), or an object with `method` and `url`.
    Route {
        /// Index of that argument.
        argument: usize,
        /// Index of the argument with the keys.
        keys: usize,
    },
    /// A method of a client, passed uncalled, or a value built by a [`SuffixKind::Options`] suffix.
    Reference {
        /// Index of that argument.
        argument: usize,
        /// Index of the argument with the keys.
        keys: usize,
    },
    /// A string that is a chain of the same package (`apiCall("chat.postMessage")`).
    Chain {
        /// Index of that argument.
        argument: usize,
        /// Index of the argument with the keys.
        keys: usize,
    },
    /// A value of a command shape; its constructor's first argument has the keys.
    Command {
        /// Index of that argument.
        argument: usize,
    },
    /// A path in an argument, with a fixed method or one in another argument.
    Path {
        /// Where the method is.
        method: Source,
        /// Where the path is.
        path: Source,
        /// Where the keys are, if anywhere.
        keys: Option<Source>,
    },
}

/// Where a dispatching call says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Always this.
    Fixed(String),
    /// The argument at this index.
    Argument(usize),
    /// This key of the object at this index.
    Option(usize, String),
}

/// What a chain on a client means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning<'c> {
    /// It requests this operation; with the suffix that stood behind, if one did.
    Operation(&'c OperationEntry, Option<&'c Suffix>),
    /// Arguments name the operation; the first that applies.
    Dispatch(&'c [Dispatch]),
    /// A known helper that makes no request.
    Local,
    /// Goes on from the result of the operation before it (`from().insert().select`): no request of its own.
    Continuation(&'c OperationEntry),
    /// Not known.
    Unknown,
}

/// One step of a chain as code writes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ChainSegment {
    /// A member name.
    Name(String),
    /// A call in the middle of the chain.
    Call,
}

/// The text that chains are looked up by: `from().select`.
pub fn chain_text(chain: &[ChainSegment]) -> String {
    let mut text = String::new();
    for segment in chain {
        match segment {
            ChainSegment::Name(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            ChainSegment::Call => text.push_str("()"),
        }
    }
    text
}

/// A URL as far as code shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlPattern {
    /// Host, fully known, without a port.
    pub host: String,
    /// Path from its first `/`, without query and fragment, in pieces that follow each other.
    pub path: Vec<UrlPart>,
}

/// A piece of a URL's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlPart {
    /// Known text; may contain `/`.
    Literal(String),
    /// A value that stands for one segment or a part of one (`${id}`); matches a parameter only.
    Value,
    /// A value that may contain `/`; matches nothing.
    Anything,
}
