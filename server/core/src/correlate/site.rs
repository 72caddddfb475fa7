//! Which call of a file a line and a column mean, and whether a span agrees with it.

use super::Reason;
use crate::operation::{Operation, erase};

/// A call to a vendor, as an index knows it ([`CallSite`](crate::graph::CallSite)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// First line of the call.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// Column where it starts, in UTF-16 units from 1.
    pub column: u32,
    /// Line of the callee's last member: what V8 reports.
    pub callee_line: u32,
    /// Its column.
    pub callee_column: u32,
    /// Qualified name of the enclosing symbol; empty at module level.
    pub symbol: String,
    /// Which symbol of that name.
    pub symbol_ordinal: u32,
    /// Hash of the call's tokens.
    pub call_hash: String,
    /// Vendor id of the catalog.
    pub vendor: String,
    /// Absent where it is not provable from the code.
    pub operation: Option<Operation>,
}

/// What a span reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Performed<'a> {
    /// Vendor id of the catalog.
    pub vendor: &'a str,
    /// As the vendor writes it. A span of an AWS SDK may know the name only: `(PutObject)`; one of plain HTTP may know
    /// only the endpoint of many operations: `POST /graphql`.
    pub operation: &'a Operation,
}

/// The one call that a line and, where there are several, a column mean.
///
/// V8 reports the line of the callee's last member, Python the first line of the call, and a coarse source map any
/// line of it. So a line means the calls that begin or are named there, and those that cover it most closely: where
/// that is not one call, only a column decides, which has to be that of a callee, or of a start, or lie within what is
/// written of one callee alone.
///
/// # Errors
/// [`Reason::NoSiteAtLine`] or [`Reason::AmbiguousSite`].
pub fn choose(sites: &[Site], line: u32, column: Option<u32>) -> Result<&Site, Reason> {
    let here: Vec<&Site> = sites.iter().filter(|site| site.line <= line && line <= site.end_line).collect();
    if here.is_empty() {
        return Err(Reason::NoSiteAtLine);
    }
    if let Some(column) = column {
        let callee = |site: &Site| (site.callee_line, site.callee_column);
        let start = |site: &Site| (site.line, site.column);
        for position in [&callee as &dyn Fn(&Site) -> (u32, u32), &start] {
            let mut exact = here.iter().copied().filter(|site| position(site) == (line, column));
            match (exact.next(), exact.next()) {
                (Some(site), None) => return Ok(site),
                (Some(_), Some(_)) => return Err(Reason::AmbiguousSite),
                (None, _) => {}
            }
        }
    }
    let extent = |site: &Site| site.end_line - site.line;
    let closest = here.iter().map(|site| extent(site)).min().unwrap_or_default();
    let is_meant = |site: &Site| extent(site) == closest || site.line == line || site.callee_line == line;
    let mut meant = here.iter().copied().filter(|site| is_meant(site));
    if let (Some(site), None) = (meant.next(), meant.next()) {
        return Ok(site);
    }
    let is_around = |site: &Site| column.is_some_and(|column| is_written_at(site, line, column));
    let mut around = here.iter().copied().filter(|site| is_around(site));
    match (around.next(), around.next()) {
        (Some(site), None) if is_meant(site) => Ok(site),
        _ => Err(Reason::AmbiguousSite),
    }
}

/// Whether what is written of the callee, from the start of the call to its last member, is there.
pub(super) fn is_written_at(site: &Site, line: u32, column: u32) -> bool {
    (site.line, site.column) <= (line, column) && (line, column) <= (site.callee_line, site.callee_column)
}

/// Whether a span reached what the call is known to reach.
///
/// Operations compare with their path parameters erased. A name in parentheses is never guessed: what knows only the
/// endpoint of many operations agrees with none of them, and contradicts none.
///
/// # Errors
/// [`Reason::FillsUnmappedOperation`] where the code shows less than the span, [`Reason::OperationNotNamed`] where it
/// is the other way round, [`Reason::ContradictsStaticOperation`] where they differ.
pub fn agrees(site: &Site, performed: Performed<'_>) -> Result<(), Reason> {
    if site.vendor != performed.vendor {
        return Err(Reason::ContradictsStaticOperation);
    }
    let Some(known) = &site.operation else { return Err(Reason::FillsUnmappedOperation) };
    let (known, seen) = (Parts::of(known), Parts::of(performed.operation));
    let same_endpoint = match (&known.endpoint, &seen.endpoint) {
        (Some(known), Some(seen)) => known == seen,
        // A name without an endpoint is one of the vendor's own, each of which it has once.
        _ => true,
    };
    match (known.name, seen.name) {
        _ if !same_endpoint => Err(Reason::ContradictsStaticOperation),
        (None, None) => Ok(()),
        (Some(known), Some(seen)) if known == seen => Ok(()),
        (Some(_), Some(_)) => Err(Reason::ContradictsStaticOperation),
        (Some(_), None) => Err(Reason::OperationNotNamed),
        (None, Some(_)) => Err(Reason::FillsUnmappedOperation),
    }
}

/// An operation in the form in which it compares.
struct Parts {
    /// Method and path; absent where only a name is known.
    endpoint: Option<String>,
    /// In parentheses.
    name: Option<String>,
}

impl Parts {
    fn of(operation: &Operation) -> Self {
        let text = operation.as_str().trim();
        let named = text.strip_suffix(')').and_then(|text| {
            let (endpoint, name) = text.rsplit_once('(')?;
            (endpoint.is_empty() || endpoint.ends_with(' ')).then_some((endpoint.trim_end(), name))
        });
        let (endpoint, name) = named.map_or((text, None), |(endpoint, name)| (endpoint, Some(name)));
        Self { endpoint: (!endpoint.is_empty()).then(|| erase(endpoint)), name: name.map(str::to_ascii_lowercase) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call on lines, with where it starts and where its callee is.
    fn call(lines: (u32, u32), column: u32, callee: (u32, u32)) -> Site {
        Site {
            line: lines.0,
            end_line: lines.1,
            column,
            callee_line: callee.0,
            callee_column: callee.1,
            symbol: String::new(),
            symbol_ordinal: 0,
            call_hash: String::new(),
            vendor: "stripe".to_owned(),
            operation: None,
        }
    }

    #[track_caller]
    fn means(sites: &[Site], line: u32, column: impl Into<Option<u32>>, expected: Result<usize, Reason>) {
        assert_eq!(choose(sites, line, column.into()), expected.map(|at| &sites[at]), "line {line}");
    }

    #[test]
    fn a_line_means_the_call_that_covers_it() {
        let sites = [call((3, 3), 1, (3, 16)), call((10, 14), 5, (11, 8))];
        means(&sites, 3, None, Ok(0));
        means(&sites, 10, None, Ok(1));
        means(&sites, 11, 8, Ok(1));
        means(&sites, 14, None, Ok(1));
        means(&sites, 3, 70, Ok(0));
        means(&sites, 4, None, Err(Reason::NoSiteAtLine));
        means(&[], 1, 1, Err(Reason::NoSiteAtLine));
    }

    /// `stripe.charges.create({` on line 3, `customer: await stripe.customers.create(),` on line 4.
    #[test]
    fn of_calls_within_each_other_the_inner_one_is_meant_on_its_own_lines() {
        let sites = [call((3, 6), 1, (3, 16)), call((4, 4), 19, (4, 36))];
        means(&sites, 3, None, Ok(0));
        means(&sites, 4, None, Ok(1));
        means(&sites, 5, None, Ok(0));
    }

    /// `stripe.charges.create({ customer: await stripe.customers.create(),` on line 3, `})` on line 4: both runtimes
    /// report line 3 for both.
    #[test]
    fn an_outer_call_that_begins_on_the_line_of_an_inner_one_is_told_by_the_column_alone() {
        let sites = [call((3, 4), 1, (3, 16)), call((3, 3), 41, (3, 58))];
        means(&sites, 3, None, Err(Reason::AmbiguousSite));
        means(&sites, 3, 16, Ok(0));
        means(&sites, 3, 58, Ok(1));
        means(&sites, 3, 1, Ok(0));
        means(&sites, 3, 41, Ok(1));
        means(&sites, 3, 8, Ok(0));
        means(&sites, 3, 50, Ok(1));
        means(&sites, 3, 30, Err(Reason::AmbiguousSite));
        means(&sites, 4, None, Ok(0));
    }

    /// `stripe.customers` / `.list()` / `.autoPagingEach()`.
    #[test]
    fn calls_of_one_chain_are_told_apart_by_the_lines_of_their_names() {
        let sites = [call((1, 2), 1, (2, 4)), call((1, 3), 1, (3, 4))];
        means(&sites, 2, None, Ok(0));
        means(&sites, 3, None, Ok(1));
        means(&sites, 1, None, Err(Reason::AmbiguousSite));
        means(&sites, 1, 1, Err(Reason::AmbiguousSite));
    }

    /// `client.a().b()`: what stands before `.a` is written of both.
    #[test]
    fn a_column_within_two_callees_tells_nothing() {
        let sites = [call((1, 1), 1, (1, 8)), call((1, 1), 1, (1, 12))];
        means(&sites, 1, None, Err(Reason::AmbiguousSite));
        means(&sites, 1, 8, Ok(0));
        means(&sites, 1, 12, Ok(1));
        means(&sites, 1, 3, Err(Reason::AmbiguousSite));
        means(&sites, 1, 10, Ok(1));
        means(&sites, 1, 200, Err(Reason::AmbiguousSite));
    }

    fn agreement(known: Option<&str>, seen: (&str, &str)) -> Result<(), Reason> {
        let site = Site { operation: known.map(Operation::from_text), ..call((1, 1), 1, (1, 1)) };
        agrees(&site, Performed { vendor: seen.0, operation: &Operation::from_text(seen.1) })
    }

    #[test]
    fn operations_agree_with_their_parameters_erased() {
        assert_eq!(agreement(Some("GET /v1/charges/{charge}"), ("stripe", "get /v1/charges/:id/")), Ok(()));
        assert_eq!(
            agreement(Some("GET /v1/charges/{charge}"), ("stripe", "GET /v1/charges")),
            Err(Reason::ContradictsStaticOperation)
        );
        assert_eq!(
            agreement(Some("GET /v1/charges"), ("other", "GET /v1/charges")),
            Err(Reason::ContradictsStaticOperation)
        );
        assert_eq!(agreement(None, ("stripe", "GET /v1/charges")), Err(Reason::FillsUnmappedOperation));
        assert_eq!(agreement(None, ("other", "GET /v1/charges")), Err(Reason::ContradictsStaticOperation));
    }

    #[test]
    fn a_name_in_parentheses_is_never_guessed() {
        let create = Some("POST /graphql (issueCreate)");
        assert_eq!(agreement(create, ("stripe", "POST /graphql (issueCreate)")), Ok(()));
        assert_eq!(agreement(create, ("stripe", "POST /graphql")), Err(Reason::OperationNotNamed));
        assert_eq!(
            agreement(create, ("stripe", "POST /graphql (issueDelete)")),
            Err(Reason::ContradictsStaticOperation)
        );
        assert_eq!(agreement(create, ("stripe", "GET /graphql")), Err(Reason::ContradictsStaticOperation));
        assert_eq!(
            agreement(Some("POST /graphql"), ("stripe", "POST /graphql (issueCreate)")),
            Err(Reason::FillsUnmappedOperation)
        );
        assert_eq!(agreement(Some("POST /graphql"), ("stripe", "POST /graphql")), Ok(()));
    }

    #[test]
    fn an_aws_name_alone_is_enough_and_is_compared_with_names_only() {
        assert_eq!(agreement(Some("PUT /{Key+}?x-id=PutObject (PutObject)"), ("stripe", "(PutObject)")), Ok(()));
        assert_eq!(
            agreement(Some("POST / (PutItem)"), ("stripe", "(GetItem)")),
            Err(Reason::ContradictsStaticOperation)
        );
        assert_eq!(agreement(Some("POST / (PutItem)"), ("stripe", "POST / (PutItem)")), Ok(()));
        assert_eq!(agreement(Some("POST / (PutItem)"), ("stripe", "POST /")), Err(Reason::OperationNotNamed));
        assert_eq!(agreement(Some("GET /v1/charges"), ("stripe", "(PutItem)")), Err(Reason::FillsUnmappedOperation));
    }
}
