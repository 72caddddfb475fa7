//! Clients that a function is given, where their type alone says whose they are: what its callers give may be pointed
//! at a server of somebody else.

use super::clients::Host;
use super::eval::Evaluator;
use super::value::FileId;
use crate::parse::{CallFact, Expr};

/// Functions around a call that are looked at.
const MOST_FUNCTIONS: usize = 3;
/// Callers of one function that are looked at.
const MOST_CALLERS: usize = 16;

impl Evaluator<'_, '_> {
    /// Whether somebody gives the function around a call a client whose requests do not provably go to the vendor.
    pub(super) fn is_given_elsewhere(&mut self, file: FileId, call: &CallFact) -> bool {
        let world = self.world;
        let parsed = world.file(file).parsed;
        let Expr::Call { callee, .. } = *parsed.expr(call.expr) else { return false };
        for function in parsed.functions_around(call.function).take(MOST_FUNCTIONS) {
            for (there, caller) in self.callers_of(file, function).iter().take(MOST_CALLERS) {
                if world.is_test(*there) && !world.is_test(file) {
                    continue;
                }
                let Expr::Call { arguments, .. } = world.file(*there).parsed.expr(*caller) else { continue };
                let given = self.inside((file, function), *there, arguments, |this| this.expr(file, callee));
                let clients: Vec<usize> = given.vendors().filter_map(|vendor| vendor.client).collect();
                if clients.iter().any(|client| self.clients.get(*client).host != Host::Own) {
                    return true;
                }
            }
        }
        false
    }
}
