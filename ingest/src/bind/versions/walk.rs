//! Going through two versions of a file: whether what two ids stand for is the same, and what that leads to.

use std::collections::{BTreeMap, HashMap};

use super::{Kind, Met, Version, alike};
use crate::bind::callbacks::Given;
use crate::bind::changes::{Change, Changes};
use crate::parse::{
    Argument, Binding, CallFact, Class, Expr, ExprId, Function, Member, MemberKind, Name, Origin, Parameter, Property,
    Step, SymbolIndex, TextPart, Type, TypeRoot, Write,
};

/// A way through both versions at once.
pub(super) struct Walk<'v, 'a> {
    pub(super) then: &'v Version<'a>,
    pub(super) now: &'v Version<'a>,
    pub(super) met: &'v mut Met,
}

impl<'v> Walk<'v, '_> {
    /// Whether two things and all that they lead to are the same. What was met before counts as that.
    pub(super) fn goes_on_alike(&mut self, kind: Kind, then: u32, now: u32) -> bool {
        let mut at = self.met.all.len();
        if !self.pair(kind, then, now) {
            return false;
        }
        while let Some((kind, then, now)) = self.met.all.get(at).copied() {
            at += 1;
            if !self.met.may_go_on() || !self.is_same(kind, then, now) {
                return false;
            }
        }
        true
    }

    /// Whether two things are the same, but for what they lead to, which is met with that.
    fn is_same(&mut self, kind: Kind, then: u32, now: u32) -> bool {
        let (facts, facts_now) = (self.then.facts, self.now.facts);
        let (at, at_now) = (then as usize, now as usize);
        match kind {
            Kind::Expr => self.is_same_expr(facts.expr(then), facts_now.expr(now)) && self.expr_leads_alike(then, now),
            Kind::Binding => {
                let both = facts.bindings.get(at).zip(facts_now.bindings.get(at_now));
                both.is_some_and(|(a, b)| self.is_same_binding(a, b)) && self.binding_leads_alike(then, now)
            }
            Kind::Function => {
                let both = facts.functions.get(at).zip(facts_now.functions.get(at_now));
                // What is kept of other files names functions by their ids.
                then == now
                    && both.is_some_and(|(a, b)| self.is_same_function(a, b))
                    && self.function_leads_alike(then, now)
            }
            Kind::Class => {
                let both = facts.classes.get(at).zip(facts_now.classes.get(at_now));
                both.is_some_and(|(a, b)| self.is_same_class(a, b)) && self.class_leads_alike(then, now)
            }
            Kind::Type => {
                let both = facts.types.get(at).zip(facts_now.types.get(at_now));
                both.is_some_and(|(a, b)| self.is_same_type(a, b))
            }
            Kind::Call => {
                let both = facts.calls.get(at).zip(facts_now.calls.get(at_now));
                both.is_some_and(|(a, b)| self.is_same_call(a, b))
            }
        }
    }

    fn is_same_expr(&mut self, then: &Expr, now: &Expr) -> bool {
        match (then, now) {
            (Expr::Unknown, Expr::Unknown) | (Expr::Null, Expr::Null) => true,
            (Expr::Literal(a), Expr::Literal(b)) => a == b,
            (Expr::Text(a, digest), Expr::Text(b, digest_now)) => digest == digest_now && self.is_same_name(*a, *b),
            (Expr::Template(a), Expr::Template(b)) => alike(a, b, |a, b| match (a, b) {
                (TextPart::Text(a), TextPart::Text(b)) => self.is_same_name(*a, *b),
                (TextPart::Withheld, TextPart::Withheld) => true,
                (TextPart::Value(a), TextPart::Value(b)) => self.pair(Kind::Expr, *a, *b),
                _ => false,
            }),
            (Expr::Binding(a), Expr::Binding(b)) => self.pair(Kind::Binding, *a, *b),
            (Expr::Global(a), Expr::Global(b)) => self.is_same_name(*a, *b),
            (Expr::This(a), Expr::This(b)) | (Expr::Super(a), Expr::Super(b)) => self.pair_any(Kind::Class, *a, *b),
            (Expr::Own(a), Expr::Own(b))
            | (Expr::Index(a), Expr::Index(b))
            | (Expr::Await(a), Expr::Await(b))
            | (Expr::Guarded(a), Expr::Guarded(b)) => self.pair(Kind::Expr, *a, *b),
            (Expr::Member(a, name), Expr::Member(b, name_now)) => {
                self.is_same_name(*name, *name_now) && self.pair(Kind::Expr, *a, *b)
            }
            (
                Expr::Call { call, callee, arguments, construct },
                Expr::Call { call: call_now, callee: callee_now, arguments: arguments_now, construct: construct_now },
            ) => {
                construct == construct_now
                    && self.pair(Kind::Call, *call, *call_now)
                    && self.pair(Kind::Expr, *callee, *callee_now)
                    && self.are_same_arguments(arguments, arguments_now)
            }
            (Expr::Import(a), Expr::Import(b)) | (Expr::Require(a), Expr::Require(b)) => self.leads_alike(*a, *b),
            (Expr::Object(a), Expr::Object(b)) => alike(a, b, |a, b| match (a, b) {
                (Property::Named(name, a), Property::Named(name_now, b)) => {
                    self.is_same_name(*name, *name_now) && self.pair(Kind::Expr, *a, *b)
                }
                (Property::Spread(a), Property::Spread(b)) => self.pair(Kind::Expr, *a, *b),
                (Property::Computed, Property::Computed) => true,
                _ => false,
            }),
            (Expr::Array(a), Expr::Array(b)) => self.are_same_arguments(a, b),
            (Expr::Function(a), Expr::Function(b)) => self.pair(Kind::Function, *a, *b),
            (Expr::Class(a), Expr::Class(b)) => self.pair(Kind::Class, *a, *b),
            (Expr::Either(a, other), Expr::Either(b, other_now)) => {
                self.pair(Kind::Expr, *a, *b) && self.pair(Kind::Expr, *other, *other_now)
            }
            (Expr::Cast(a, ty), Expr::Cast(b, ty_now)) => {
                self.pair(Kind::Expr, *a, *b) && self.pair(Kind::Type, *ty, *ty_now)
            }
            _ => false,
        }
    }

    fn is_same_binding(&mut self, then: &Binding, now: &Binding) -> bool {
        let Binding { name, origin, ty, writes, line: _, symbol } = then;
        let same = match (origin, &now.origin) {
            (Origin::Unknown, Origin::Unknown) => true,
            (Origin::Import { specifier, name }, Origin::Import { specifier: specifier_now, name: name_now }) => {
                self.is_same_name(*name, *name_now) && self.leads_alike(*specifier, *specifier_now)
            }
            (Origin::Value(a, steps), Origin::Value(b, steps_now)) => {
                self.pair(Kind::Expr, *a, *b) && self.are_same_steps(steps, steps_now)
            }
            (Origin::Parameter(a, at, steps), Origin::Parameter(b, at_now, steps_now)) => {
                at == at_now && self.pair(Kind::Function, *a, *b) && self.are_same_steps(steps, steps_now)
            }
            (Origin::Function(a), Origin::Function(b)) => self.pair(Kind::Function, *a, *b),
            (Origin::Class(a), Origin::Class(b)) => self.pair(Kind::Class, *a, *b),
            (Origin::Type(a), Origin::Type(b)) => self.pair(Kind::Type, *a, *b),
            _ => false,
        };
        same && self.is_same_name(*name, now.name)
            && self.is_same_symbol(*symbol, now.symbol)
            && self.pair_any(Kind::Type, *ty, now.ty)
            && alike(writes, &now.writes, |then, now| self.is_same_write(*then, *now))
    }

    fn is_same_function(&mut self, then: &Function, now: &Function) -> bool {
        let Function { parameters, returns, return_type, declared, closed, symbol, scope, outer } = then;
        *closed == now.closed
            && self.is_same_symbol(*symbol, now.symbol)
            && self.is_same_symbol(*scope, now.scope)
            && self.pair_any(Kind::Type, *return_type, now.return_type)
            && self.pair_any(Kind::Type, *declared, now.declared)
            && self.pair_any(Kind::Function, *outer, now.outer)
            && self.pair_all(Kind::Expr, returns, &now.returns)
            && alike(parameters, &now.parameters, |then, now| {
                let Parameter { ty, default, name } = *then;
                self.is_any_same_name(name, now.name)
                    && self.pair_any(Kind::Type, ty, now.ty)
                    && self.pair_any(Kind::Expr, default, now.default)
            })
    }

    fn is_same_class(&mut self, then: &Class, now: &Class) -> bool {
        let Class { symbol, extends, further, constructor, members, assigned, line: _ } = then;
        self.is_same_symbol(*symbol, now.symbol)
            && self.pair_any(Kind::Expr, *extends, now.extends)
            && self.pair_all(Kind::Expr, further, &now.further)
            && self.pair_any(Kind::Function, *constructor, now.constructor)
            && self.are_same_assigned(assigned, &now.assigned)
            && alike(members, &now.members, |then, now| {
                let Member { name, is_static, kind, line: _ } = *then;
                let same = match (kind, now.kind) {
                    (MemberKind::Field(ty, value), MemberKind::Field(ty_now, value_now)) => {
                        self.pair_any(Kind::Type, ty, ty_now) && self.pair_any(Kind::Expr, value, value_now)
                    }
                    (MemberKind::Method(a), MemberKind::Method(b)) | (MemberKind::Getter(a), MemberKind::Getter(b)) => {
                        self.pair(Kind::Function, a, b)
                    }
                    _ => false,
                };
                same && is_static == now.is_static && self.is_same_name(name, now.name)
            })
    }

    fn is_same_type(&mut self, then: &Type, now: &Type) -> bool {
        match (then, now) {
            (Type::Unknown, Type::Unknown) | (Type::Null, Type::Null) => true,
            (Type::Reference(root, path, arguments), Type::Reference(root_now, path_now, arguments_now)) => {
                self.is_same_root(*root, *root_now)
                    && self.are_same_names(path, path_now)
                    && self.pair_all(Kind::Type, arguments, arguments_now)
            }
            (Type::Typeof(root, path), Type::Typeof(root_now, path_now)) => {
                self.is_same_root(*root, *root_now) && self.are_same_names(path, path_now)
            }
            (Type::Union(a), Type::Union(b)) | (Type::Intersection(a), Type::Intersection(b)) => {
                self.pair_all(Kind::Type, a, b)
            }
            (Type::Object(members, extends), Type::Object(members_now, extends_now)) => {
                self.pair_all(Kind::Type, extends, extends_now)
                    && alike(members, members_now, |(name, a), (name_now, b)| {
                        self.is_same_name(*name, *name_now) && self.pair(Kind::Type, *a, *b)
                    })
            }
            (Type::Indexed(a, name), Type::Indexed(b, name_now)) => {
                self.is_same_name(*name, *name_now) && self.pair(Kind::Type, *a, *b)
            }
            (Type::List(a), Type::List(b)) => self.pair(Kind::Type, *a, *b),
            (Type::Function(parameters, result), Type::Function(parameters_now, result_now)) => {
                self.pair_all(Kind::Type, parameters, parameters_now) && self.pair(Kind::Type, *result, *result_now)
            }
            _ => false,
        }
    }

    fn is_same_root(&mut self, then: TypeRoot, now: TypeRoot) -> bool {
        match (then, now) {
            (TypeRoot::Binding(a), TypeRoot::Binding(b)) => self.pair(Kind::Binding, a, b),
            (TypeRoot::Global(a), TypeRoot::Global(b)) => self.is_same_name(a, b),
            (TypeRoot::Import(a), TypeRoot::Import(b)) => self.leads_alike(a, b),
            _ => false,
        }
    }

    fn is_same_call(&mut self, then: &CallFact, now: &CallFact) -> bool {
        let CallFact {
            expr,
            line: _,
            column: _,
            end_line: _,
            callee_line: _,
            callee_column: _,
            symbol,
            function,
            keywords,
            // What is asked of a call in another file is what it requests, and that is in the expressions.
            hash: _,
            uses,
        } = then;
        *uses == now.uses
            && self.is_same_symbol(*symbol, now.symbol)
            && self.pair(Kind::Expr, *expr, now.expr)
            && self.pair_any(Kind::Function, *function, now.function)
            && self.pair_any(Kind::Expr, *keywords, now.keywords)
    }

    /// The same of what tables keep of an expression.
    fn expr_leads_alike(&mut self, then: u32, now: u32) -> bool {
        let (Changes { objects, added, .. }, Changes { objects: objects_now, added: added_now, .. }) = self.changes();
        let put = |of: &'v HashMap<ExprId, Vec<ExprId>>, at: u32| of.get(&at).map_or(&[][..], Vec::as_slice);
        self.are_same_changes(objects.get(&then), objects_now.get(&now))
            && self.pair_all(Kind::Expr, put(added, then), put(added_now, now))
            && self.pair_any(Kind::Expr, self.then.continued.get(&then).copied(), self.now.continued.get(&now).copied())
    }

    /// The same of what tables keep of a name.
    fn binding_leads_alike(&mut self, then: u32, now: u32) -> bool {
        let (before, after) = self.changes();
        let set = |changes: &'v Changes, binding: u32| changes.set.get(&binding).map_or(&[][..], Vec::as_slice);
        self.are_same_changes(before.bindings.get(&then), after.bindings.get(&now))
            && self.are_same_members(before.members_of_names.get(&then), after.members_of_names.get(&now))
            && alike(set(before, then), set(after, now), |then, now| self.is_any_same_name(*then, *now))
    }

    /// The same of what tables keep of a function.
    fn function_leads_alike(&mut self, then: u32, now: u32) -> bool {
        // Every table is named here or below or with the versions, so that a new one is not forgotten.
        let (before, after) = self.changes();
        let Changes {
            bindings: _,
            objects: _,
            members_of_names: _,
            members_of_functions,
            members_of_parameters,
            classes: _,
            globals: _,
            members: _,
            assigned: _,
            added: _,
            set: _,
        } = before;
        let Given { passed, called: _ } = &self.then.given;
        let list = |of: &'v HashMap<u32, Vec<(ExprId, usize)>>, at: u32| of.get(&at).map_or(&[][..], Vec::as_slice);
        let assigned =
            |of: &'v HashMap<u32, Vec<(u32, Name, ExprId)>>, at: u32| of.get(&at).map_or(&[][..], Vec::as_slice);
        self.are_same_members(members_of_functions.get(&then), after.members_of_functions.get(&now))
            && alike(
                assigned(members_of_parameters, then),
                assigned(&after.members_of_parameters, now),
                |(at, name, value), (at_now, name_now, value_now)| {
                    at == at_now && self.is_same_name(*name, *name_now) && self.pair(Kind::Expr, *value, *value_now)
                },
            )
            && alike(list(passed, then), list(&self.now.given.passed, now), |(call, at), (call_now, at_now)| {
                at == at_now && self.pair(Kind::Expr, *call, *call_now)
            })
            && self.are_same_calls_of_parameters(self.then.called.get(&then), self.now.called.get(&now))
    }

    fn are_same_calls_of_parameters(
        &mut self,
        then: Option<&BTreeMap<u32, Vec<ExprId>>>,
        now: Option<&BTreeMap<u32, Vec<ExprId>>>,
    ) -> bool {
        let (Some(then), Some(now)) = (then, now) else { return then.is_none() == now.is_none() };
        then.len() == now.len()
            && then
                .iter()
                .zip(now)
                .all(|((at, calls), (at_now, calls_now))| at == at_now && self.pair_all(Kind::Expr, calls, calls_now))
    }

    /// The same of what tables keep of a class.
    fn class_leads_alike(&mut self, then: u32, now: u32) -> bool {
        let (before, after) = self.changes();
        let assigned = |changes: &'v Changes, class: u32| changes.classes.get(&class).map_or(&[][..], Vec::as_slice);
        let extended = |version: &'v Version<'_>, class: u32| {
            version.facts.extensions.iter().find(|(part, _)| *part == class).map(|(_, ty)| *ty)
        };
        self.are_same_assigned(assigned(before, then), assigned(after, now))
            && self.pair_any(Kind::Expr, self.then.supers.get(&then).copied(), self.now.supers.get(&now).copied())
            && self.pair_any(Kind::Type, extended(self.then, then), extended(self.now, now))
    }

    const fn changes(&self) -> (&'v Changes, &'v Changes) {
        (&self.then.changes, &self.now.changes)
    }

    fn pair(&mut self, kind: Kind, then: u32, now: u32) -> bool {
        self.met.pair(kind, then, now)
    }

    fn pair_any(&mut self, kind: Kind, then: Option<u32>, now: Option<u32>) -> bool {
        match (then, now) {
            (Some(then), Some(now)) => self.pair(kind, then, now),
            (None, None) => true,
            _ => false,
        }
    }

    fn pair_all(&mut self, kind: Kind, then: &[u32], now: &[u32]) -> bool {
        alike(then, now, |then, now| self.pair(kind, *then, *now))
    }

    fn is_same_name(&self, then: Name, now: Name) -> bool {
        self.then.facts.name(then) == self.now.facts.name(now)
    }

    fn is_any_same_name(&self, then: Option<Name>, now: Option<Name>) -> bool {
        then.map(|name| self.then.facts.name(name)) == now.map(|name| self.now.facts.name(name))
    }

    fn are_same_names(&self, then: &[Name], now: &[Name]) -> bool {
        alike(then, now, |then, now| self.is_same_name(*then, *now))
    }

    fn is_same_symbol(&self, then: Option<SymbolIndex>, now: Option<SymbolIndex>) -> bool {
        self.then.symbol(then) == self.now.symbol(now)
    }

    fn leads_alike(&self, then: Name, now: Name) -> bool {
        self.then.leads_as(then, self.now, now)
    }

    fn are_same_steps(&self, then: &[Step], now: &[Step]) -> bool {
        alike(then, now, |then, now| match (then, now) {
            (Step::Member(then), Step::Member(now)) => self.is_same_name(*then, *now),
            (Step::Item, Step::Item) | (Step::Rest, Step::Rest) => true,
            (Step::Element(then), Step::Element(now)) => then == now,
            _ => false,
        })
    }

    fn are_same_arguments(&mut self, then: &[Argument], now: &[Argument]) -> bool {
        alike(then, now, |then, now| {
            let Argument { value, spread } = *then;
            spread == now.spread && self.pair(Kind::Expr, value, now.value)
        })
    }

    fn are_same_assigned(&mut self, then: &[(Name, ExprId)], now: &[(Name, ExprId)]) -> bool {
        alike(then, now, |(name, then), (name_now, now)| {
            self.is_same_name(*name, *name_now) && self.pair(Kind::Expr, *then, *now)
        })
    }

    fn is_same_write(&mut self, then: Write, now: Write) -> bool {
        let Write { value, appends, certain, fallback } = then;
        (appends, certain, fallback) == (now.appends, now.certain, now.fallback)
            && self.pair(Kind::Expr, value, now.value)
    }

    fn are_same_changes(&mut self, then: Option<&Vec<Change>>, now: Option<&Vec<Change>>) -> bool {
        let (then, now) = (then.map_or(&[][..], Vec::as_slice), now.map_or(&[][..], Vec::as_slice));
        alike(then, now, |then, now| match (then, now) {
            (Change::Member(path, write), Change::Member(path_now, write_now)) => {
                alike(path, path_now, |then, now| self.is_any_same_name(*then, *now))
                    && self.is_same_write(*write, *write_now)
            }
            (Change::Spread(then), Change::Spread(now)) => self.pair(Kind::Expr, *then, *now),
            _ => false,
        })
    }

    fn are_same_members(
        &mut self,
        then: Option<&HashMap<String, ExprId>>,
        now: Option<&HashMap<String, ExprId>>,
    ) -> bool {
        let (Some(then), Some(now)) = (then, now) else { return then.is_none() == now.is_none() };
        // Which are paired first makes no difference: each is, or none is the same.
        then.len() == now.len()
            && then.iter().all(|(name, then)| now.get(name).is_some_and(|now| self.pair(Kind::Expr, *then, *now)))
    }
}
