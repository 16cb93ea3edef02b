import { start, tokenFromPath, type Spoken } from "../ui/start";
import { Sign, type Host } from "./App";

const alone: Host = { emit: () => {} };

void start((spoken: Spoken) => <Sign {...spoken} token={tokenFromPath()} host={alone} />);
