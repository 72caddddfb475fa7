//! What the MCP library calls: lists from tables, and answers from `answers/`. Holds no state, since the library makes
//! one for every request.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, ContentBlock, DiscoverResult, GetPromptRequestParams, GetPromptResponse, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference, ResourceContents,
    ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use sync_core::policy;

use super::guard::guarded;
use super::{REVISIONS, prompts, resources, surface};
use crate::answers::error::{AnswerError, Code};
use crate::answers::tools::{self, Tool as Known};
use crate::answers::{Completed, Completion};
use crate::app::App;
use crate::audit::Asker;
use crate::usage::Counted;

/// How long a client may keep a list: tools, prompts and templates change with a release only.
const LIST_TTL_MS: u64 = 5 * 60 * 1000;

/// How long a client may keep what comes out of the store.
const READ_TTL_MS: u64 = 60 * 1000;

/// The most completions that the protocol allows.
const MAX_COMPLETIONS: usize = 100;

/// Serves one request.
#[derive(Clone)]
pub struct Handler {
    app: Arc<App>,
}

impl Handler {
    /// For one service.
    pub fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    /// What is said where the organization's plan leaves that tool out.
    async fn not_in_plan(&self, asker: &Asker, tool: &str) -> Option<AnswerError> {
        let plan = match self.app.plans.of(asker.principal.organization).await {
            Ok(plan) => plan,
            Err(error) => {
                tracing::warn!(%error, "the plan of an organization could not be read");
                return Some(AnswerError::unavailable());
            }
        };
        let left_out = plan.tools.as_ref().is_some_and(|tools| !tools.iter().any(|allowed| allowed == tool));
        left_out.then(|| {
            let error = AnswerError::new(
                Code::OverLimit,
                format!("The plan {} of this organization does not have the tool {tool}.", plan.name),
                "Use another tool, or ask an administrator for a plan that has it.",
            );
            error.with_details(json!({ "limit": "tools", "plan": plan.name, "allowed": plan.tools }))
        })
    }
}

type Context = RequestContext<RoleServer>;

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        surface::config()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&REVISIONS)
    }

    async fn discover(&self, _context: Context) -> Result<DiscoverResult, ErrorData> {
        Ok(DiscoverResult::from_server_info(REVISIONS.to_vec(), self.get_info())
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        listed(name)
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let asker = asker(&context)?;
        only_page(page.as_ref())?;
        let visible = LISTED.iter().filter(|(known, _)| policy::decide(&asker.principal, known.operation()).is_ok());
        let mut result = ListToolsResult::with_all_items(visible.map(|(_, tool)| tool.clone()).collect())
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private);
        result.meta = server_info(&context);
        Ok(result)
    }

    async fn call_tool(&self, call: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let asker = asker(&context)?;
        // A tool that the credential may not call is not listed, and is as unknown as one that does not exist.
        let known = tools::find(&call.name)
            .filter(|known| policy::decide(&asker.principal, known.operation()).is_ok())
            .ok_or_else(|| {
                let name = sync_core::text::shown(&call.name, 80);
                ErrorData::invalid_params(format!("unknown tool `{name}`; tools/list names them"), None)
            })?;
        let arguments = call.arguments.unwrap_or_default();
        self.app.usage.count(asker.principal.organization, Counted::ToolCall);
        let answer = match self.not_in_plan(&asker, known.name).await {
            Some(error) => Err(self.app.auditor.refused(&asker, known.name, &Value::Object(arguments), error).await),
            None => guarded(async { Ok(known.call(self.app.answers.as_ref(), &asker, &arguments).await) })
                .await
                .unwrap_or_else(|_| Err(AnswerError::internal())),
        };
        let mut result = match answer {
            Ok(value) => CallToolResult::structured(value),
            Err(error) => failed(&error, &asker),
        };
        if let Some(info) = server_info(&context) {
            result.meta.get_or_insert_default().0.extend(info.0);
        }
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        only_page(page.as_ref())?;
        let mut result = ListPromptsResult::with_all_items(prompts::all())
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private);
        result.meta = server_info(&context);
        Ok(result)
    }

    async fn get_prompt(&self, get: GetPromptRequestParams, context: Context) -> Result<GetPromptResponse, ErrorData> {
        let mut result = prompts::get(&get.name, get.arguments.as_ref())?;
        result.meta = server_info(&context);
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let asker = asker(&context)?;
        only_page(page.as_ref())?;
        let vendors =
            guarded(async { self.app.answers.feed_vendors(&asker).await.map_err(|error| protocol_error(&error)) })
                .await?;
        let feeds = vendors.iter().map(|vendor| resources::resource(vendor)).collect();
        let mut result =
            ListResourcesResult::with_all_items(feeds).with_ttl_ms(READ_TTL_MS).with_cache_scope(CacheScope::Private);
        result.meta = server_info(&context);
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        only_page(page.as_ref())?;
        let mut result = ListResourceTemplatesResult::with_all_items(vec![resources::template()])
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private);
        result.meta = server_info(&context);
        Ok(result)
    }

    async fn read_resource(
        &self,
        read: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let asker = asker(&context)?;
        let not_found = || {
            let uri = sync_core::text::shown(&read.uri, 200);
            ErrorData::resource_not_found(
                format!("no resource `{uri}`; resources/list names them"),
                Some(json!({ "uri": read.uri })),
            )
        };
        let vendor = resources::vendor_of(&read.uri).ok_or_else(not_found)?;
        let document = guarded(async {
            self.app.answers.feed(&asker, vendor).await.map_err(|error| match error.code {
                Code::VendorUnknown => not_found(),
                _ => protocol_error(&error),
            })
        })
        .await?;
        let text = serde_json::to_string(&document).map_err(|error| {
            tracing::error!(%error, "a feed document has no JSON");
            protocol_error(&AnswerError::internal())
        })?;
        let contents = ResourceContents::text(text, read.uri.clone()).with_mime_type(resources::MIME_TYPE);
        let mut result =
            ReadResourceResult::new(vec![contents]).with_ttl_ms(READ_TTL_MS).with_cache_scope(CacheScope::Private);
        result.meta = server_info(&context);
        Ok(result.into())
    }

    async fn complete(&self, typed: CompleteRequestParams, context: Context) -> Result<CompleteResult, ErrorData> {
        let asker = asker(&context)?;
        let of = completed(&typed.r#ref, &typed.argument.name)?;
        // Of a list, the last item is the one being typed.
        let text = typed.argument.value;
        let (before, prefix) = match text.rfind([',', '\n']).filter(|_| of == Completed::Path) {
            Some(at) => text.split_at(at + 1),
            None => ("", text.as_str()),
        };
        let completion = Completion { of, prefix: prefix.trim_start().to_owned() };
        let values = guarded(async {
            self.app.answers.complete(&asker, completion).await.map_err(|error| protocol_error(&error))
        })
        .await?;
        let values = values.into_iter().take(MAX_COMPLETIONS).map(|value| format!("{before}{value}")).collect();
        let mut result = CompleteResult::new(CompletionInfo::new(values).map_err(|reason| {
            tracing::error!(reason, "completions do not fit the protocol");
            protocol_error(&AnswerError::internal())
        })?);
        result.meta = server_info(&context);
        Ok(result)
    }
}

/// The parameter that modern clients mirror into a header (SEP-2243), which the library compares with the message. One
/// that is rarely given and says little, since proxies write headers into their logs; older revisions have no such
/// headers and nothing changes for them.
const MIRRORED: &str = "ref";

/// The tools as they are listed, made once.
static LISTED: LazyLock<Vec<(&'static Known, Tool)>> =
    LazyLock::new(|| tools::all().iter().map(|known| (known, as_listed(known))).collect());

fn listed(name: &str) -> Option<Tool> {
    LISTED.iter().find(|(known, _)| known.name == name).map(|(_, tool)| tool.clone())
}

fn as_listed(known: &Known) -> Tool {
    let hints = known.hints;
    let annotations = ToolAnnotations::with_title(known.title)
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    let mut input = known.input_schema.clone();
    if let Some(reference) = input.get_mut("properties").and_then(|properties| properties.get_mut(MIRRORED)) {
        reference["x-mcp-header"] = json!("Ref");
    }
    Tool::new(known.name, known.description, Arc::new(input))
        .with_title(known.title)
        .with_raw_output_schema(Arc::new(known.output_schema.clone()))
        .with_annotations(annotations)
}

/// A tool's error: all of it in the one text block, since that is what an agent is shown, and no `structuredContent`,
/// since clients check that against the output schema and then show nothing at all.
fn failed(error: &AnswerError, asker: &Asker) -> CallToolResult {
    let told = surface::error_json(error);
    let mut meta = MetaObject::new();
    meta.0.insert(surface::ERROR_KEY.to_owned(), told.clone());
    meta.0.insert(surface::REQUEST_ID_KEY.to_owned(), json!(asker.request_id));
    CallToolResult::error(vec![ContentBlock::text(json!({ "error": told }).to_string())]).with_meta(Some(meta))
}

/// An error of what is no tool. A client may act on `data` as an agent acts on a tool's error.
fn protocol_error(error: &AnswerError) -> ErrorData {
    let message = format!("{}: {} {}", error.code.as_str(), error.message, error.next_step);
    let data = Some(surface::error_json(error));
    if error.code.is_refusal() {
        ErrorData::invalid_params(message, data)
    } else {
        ErrorData::internal_error(message, data)
    }
}

fn asker(context: &Context) -> Result<Asker, ErrorData> {
    context
        .extensions
        .get::<http::request::Parts>()
        .and_then(|parts| parts.extensions.get::<Asker>())
        .cloned()
        .ok_or_else(|| ErrorData::internal_error("the request reached a handler without a principal", None))
}

/// Lists fit one page, so that no cursor was ever given out.
fn only_page(page: Option<&PaginatedRequestParams>) -> Result<(), ErrorData> {
    match page.and_then(|page| page.cursor.as_ref()) {
        None => Ok(()),
        Some(_) => Err(ErrorData::invalid_params("unknown cursor: this list has one page", None)),
    }
}

/// Modern results say who made them; the library does so for some of them only.
fn server_info(context: &Context) -> Option<MetaObject> {
    context.meta.protocol_version().filter(|version| *version >= ProtocolVersion::V_2026_07_28)?;
    let mut meta = MetaObject::new();
    meta.0.insert(surface::SERVER_INFO_KEY.to_owned(), json!(surface::implementation()));
    Some(meta)
}

fn completed(reference: &Reference, argument: &str) -> Result<Completed, ErrorData> {
    let known = match reference {
        Reference::Prompt(prompt) => prompts::find(&prompt.name).is_some(),
        Reference::Resource(resource) => resource.uri == resources::TEMPLATE,
        _ => false,
    };
    let of = match argument {
        "vendor" => Some(Completed::Vendor),
        "repository" => Some(Completed::Repository),
        "path" | "paths" => Some(Completed::Path),
        _ => None,
    };
    of.filter(|_| known).ok_or_else(|| {
        ErrorData::invalid_params(
            "nothing to complete: `vendor`, `repository` and `path` of our prompts and of sync://feed/{vendor} are",
            None,
        )
    })
}
