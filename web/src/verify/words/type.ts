import type { Text } from "../../lang/words";
import type { en } from "./en";

export type VerifyKey = keyof typeof en;
/** All texts of the verification page in one language. */
export type VerifyWords = Record<VerifyKey, Text>;
