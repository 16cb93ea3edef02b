import { start, tokenFromPath, type LocalizedProps } from "../ui/start";
import { Sign, type Host } from "./App";

const alone: Host = { emit: () => {} };

void start((spoken: LocalizedProps) => <Sign {...spoken} token={tokenFromPath()} host={alone} />);
